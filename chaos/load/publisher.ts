import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type FlvTag, flvTagType } from '../../server/live/media/flv-stream.ts'
import { RtmpClient } from '../../server/live/rtmp/client.ts'

/** The video frames that one connection has sent: their numbers in the source, and when the connection ended. */
export type SentFrames = {
  frames: number[]
  begunAt: number
  endedAt: number
  endedBy: 'encoder' | 'service'
}

type Options = {
  tags: FlvTag[]
  urls: string[]
  streamKey: string
  /** The length of the source, which is sent again and again. */
  sourceMs: number
}

const tickMs = 50
const reconnectMs = 500
const answerTimeoutMs = 10_000

/** An encoder that sends a source in real time, and reconnects until it is stopped. */
export class Publisher {
  readonly #options: Options
  #attempts = 0
  /** Where the source continues after a reconnect. */
  #at = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Sends for this time. Returns what each connection has sent. */
  async run(forMs: number, stopping: AbortSignal): Promise<SentFrames[]> {
    const connections: SentFrames[] = []
    const endsAt = Date.now() + forMs
    const isOver = () => stopping.aborted || Date.now() >= endsAt
    while (!isOver()) {
      const client = await this.#connect().catch(() => undefined)
      if (client) connections.push(await this.#send(client, isOver))
      if (!isOver()) await delay(reconnectMs)
    }
    return connections
  }

  async #connect(): Promise<RtmpClient> {
    const { urls, streamKey } = this.#options
    const url = new URL(urls[this.#attempts++ % urls.length]!)
    const socket = connect(Number(url.port), url.hostname)
    socket.on('error', () => {})
    await once(socket, 'connect', { signal: AbortSignal.timeout(answerTimeoutMs) }).catch((error) => {
      socket.destroy()
      throw error
    })
    const tcUrl = url.href
    return RtmpClient.publish(socket, { app: 's', tcUrl, streamKey, answerTimeoutMs, onDrain() {} })
  }

  async #send(client: RtmpClient, isOver: () => boolean): Promise<SentFrames> {
    const { tags, sourceMs } = this.#options
    let endedBy: SentFrames['endedBy'] | undefined
    client.ended.then(() => {
      endedBy ??= 'service'
    })
    const sent: SentFrames = { frames: [], begunAt: Date.now(), endedAt: 0, endedBy: 'service' }
    for (const tag of tags.filter(isConfiguration)) client.send(kindOf(tag), 0, tag.payload)
    const media = tags.filter((tag) => isMedia(tag) && !isConfiguration(tag))
    const numbers = new Map(media.filter(isVideo).map((tag, number) => [tag, number]))
    let next = Math.max(
      0,
      media.findIndex((tag) => tag.timestamp >= this.#at && isKeyFrame(tag)),
    )
    const firstMs = media[next]!.timestamp
    let loops = 0
    while (!endedBy && !isOver()) {
      const elapsedMs = Date.now() - sent.begunAt
      for (;;) {
        const tag = media[next]!
        const timestamp = tag.timestamp - firstMs + loops * sourceMs
        // An encoder drops what it cannot send. This one waits, so that each frame is sent once.
        if (timestamp > elapsedMs || client.isFull) break
        client.send(kindOf(tag), timestamp, tag.payload)
        if (isVideo(tag)) sent.frames.push(numbers.get(tag)!)
        this.#at = tag.timestamp
        next++
        if (next < media.length) continue
        next = 0
        loops++
      }
      await Promise.race([delay(tickMs), client.ended])
    }
    if (!endedBy) {
      endedBy = 'encoder'
      await client.close()
    }
    return { ...sent, endedAt: Date.now(), endedBy }
  }
}

const isMedia = ({ type }: FlvTag) => type === flvTagType.audio || type === flvTagType.video
/** A frame. The second byte is 0 for the configuration of the codec, and 2 for the end of the stream. */
const isVideo = ({ type, payload }: FlvTag) => type === flvTagType.video && payload[1] === 1
const kindOf = ({ type }: FlvTag) => (type === flvTagType.audio ? 'audio' : 'video')
/** The first byte has the kind of frame and the codec, the second one whether it is the configuration of the codec. */
const isConfiguration = (tag: FlvTag) => isMedia(tag) && tag.payload[1] === 0
const isKeyFrame = ({ type, payload }: FlvTag) => type === flvTagType.video && payload[0]! >> 4 === 1
