import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface, type Interface } from 'node:readline'
import { RtmpClient } from '../../server/live/rtmp/client.ts'
import { type ClipTag, clipMs, readClip } from './clip.ts'

type Options = {
  port: number
  /** One broadcast for each. */
  keys: string[]
  clip: string
}

/** When an encoder began to connect, and when it sent the first picture, in milliseconds since 1970. */
type Started = { connectMs: number; startMs: number }

export type Encoders = Started & {
  /** Of each encoder, in the order of the keys. */
  starts: Started[]
  /** Ends the broadcasts. Resolves with the time at which the first encoder has sent each frame. */
  stop(): Promise<number[]>
}

/** Starts encoders in a process of their own, which send the clip in real time, again and again. */
export async function startEncoders(options: Options): Promise<Encoders> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  child.stdin.write(`${JSON.stringify(options)}\n`)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the encoders ended early')
    return JSON.parse(value)
  }
  const starts: Started[] = await read()
  return {
    ...starts[0]!,
    starts,
    async stop() {
      child.stdin.end()
      const sentAt: number[] = await read()
      await ended
      return sentAt
    },
  }
}

const tickMs = 5

/** One broadcast. */
class Encoder {
  readonly #client: RtmpClient
  readonly #tags: ClipTag[]
  readonly startMs: number
  #next = 0
  #rounds = 0
  readonly sentAt: number[] = []
  isClosing = false

  constructor(client: RtmpClient, tags: ClipTag[]) {
    this.#client = client
    this.#tags = tags
    this.startMs = Date.now()
  }

  /** Sends everything that is due. A server that does not read gets it later. */
  send(): void {
    const now = Date.now()
    while (!this.#client.isFull) {
      const tag = this.#tags[this.#next]
      if (!tag) {
        this.#next = 0
        this.#rounds++
        continue
      }
      const atMs = tag.atMs + this.#rounds * clipMs
      if (this.startMs + atMs > now) return
      this.#next++
      if (tag.isHeader && this.#rounds > 0) continue
      this.#client.send(tag.kind, atMs, tag.payload)
      if (tag.kind === 'video' && !tag.isHeader) this.sentAt.push(now)
    }
  }

  close(): Promise<void> {
    this.isClosing = true
    return this.#client.close()
  }
}

async function openEncoder(port: number, streamKey: string, tags: ClipTag[]): Promise<[Encoder, Started]> {
  const connectMs = Date.now()
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const tcUrl = `rtmp://127.0.0.1:${port}/s`
  const client = await RtmpClient.publish(socket, {
    app: 's',
    tcUrl,
    streamKey,
    answerTimeoutMs: 60_000,
    onDrain: () => {},
  })
  const encoder = new Encoder(client, tags)
  client.ended.then((reason) => {
    if (!encoder.isClosing) console.error(`An encoder was disconnected: ${reason.message}`)
  })
  return [encoder, { connectMs, startMs: encoder.startMs }]
}

async function run(lines: Interface): Promise<void> {
  const input = lines[Symbol.asyncIterator]()
  const { port, keys, clip }: Options = JSON.parse((await input.next()).value ?? '')
  const tags = await readClip(clip)
  const encoders: Encoder[] = []
  const timer = setInterval(() => {
    for (const encoder of encoders) encoder.send()
  }, tickMs)
  const starts: Started[] = []
  for (const key of keys) {
    const [encoder, started] = await openEncoder(port, key, tags)
    encoders.push(encoder)
    starts.push(started)
    // Otherwise all would send their key frames at the same moment.
    await new Promise((resolve) => setTimeout(resolve, 2_000 / keys.length))
  }
  console.log(JSON.stringify(starts))
  await input.next()
  clearInterval(timer)
  await Promise.all(encoders.map((encoder) => encoder.close()))
  console.log(JSON.stringify(encoders[0]?.sentAt))
}

if (import.meta.main) await run(createInterface({ input: process.stdin }))
