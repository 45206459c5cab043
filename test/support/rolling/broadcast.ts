import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { FlvTag } from '../../../server/live/media/flv-stream.ts'
import { call, type Target } from '../harness.ts'
import { RtmpEncoder } from '../live/encoders.ts'
import type { LiveStream } from '../live/live-streams.ts'

/** Sends a source in real time, again and again, and connects again whenever it is disconnected, as OBS does. */
export class Publisher {
  /** How often the service has accepted it. */
  connections = 0
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(rtmpPort: number, streamKey: string, source: FlvTag[]) {
    const service = { output: () => `rtmp://127.0.0.1:${rtmpPort}/s` }
    this.#running = this.#run(() => RtmpEncoder.connect(service, streamKey), source)
  }

  async #run(connect: () => Promise<RtmpEncoder>, source: FlvTag[]): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const encoder = await connect().catch(() => undefined)
      if (encoder) await this.#send(encoder, source)
      else await delay(200)
    }
  }

  async #send(encoder: RtmpEncoder, source: FlvTag[]): Promise<void> {
    this.connections++
    let isConnected = true
    encoder.ended.then(() => {
      isConnected = false
    })
    const begun = performance.now()
    const roundMs = source.at(-1)!.timestamp + 200
    for (let round = 0; ; round++)
      for (const tag of source) {
        const dueMs = round * roundMs + tag.timestamp
        while (isConnected && performance.now() - begun < dueMs) await delay(20)
        if (!isConnected) return
        if (this.#stopping.signal.aborted) return await encoder.close()
        await encoder.send([tag], round * roundMs)
      }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }
}

/**
 * A viewer of a live stream. Each call loads the playlist once more, and the newest segment. A segment that a player has
 * seen keeps its content, and numbers never go back.
 */
export function liveViewer({ url }: Target, { liveStreamId }: LiveStream): () => Promise<number> {
  let playlist: string | undefined
  let last = -1
  return async () => {
    playlist ??= await findPlaylist(`${url}/live/${liveStreamId}.m3u8`)
    const text = await load(playlist)
    const first = Number(/#EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(text)?.[1])
    const segments = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const newest = first + segments.length - 1
    assert.ok(newest >= last, `the playlist went from ${last} back to ${newest}`)
    assert.doesNotMatch(text, /#EXT-X-ENDLIST/)
    if (newest > last && segments.length > 0) await load(new URL(segments.at(-1)!, playlist).href)
    last = newest
    await delay(100)
    return last
  }
}

async function findPlaylist(master: string): Promise<string> {
  const path = (await load(master))
    .split('\n')
    .find((line) => line.includes('/source/') && !line.startsWith('#'))
  assert.ok(path, 'the master playlist has the source')
  return new URL(path, master).href
}

async function load(url: string): Promise<string> {
  const { status, text } = await call(url, { key: '' })
  assert.equal(status, 200, `${url}: ${status} ${text.slice(0, 300)}`)
  return text
}
