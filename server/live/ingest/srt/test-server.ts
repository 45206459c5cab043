import { execFileSync, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Connection, Publish, PublishAnswer, Refusal } from '../publisher.ts'
import { isControl } from './packets.ts'
import { listenForSrt } from './server.ts'
import { TsPublisher } from './ts-publisher.ts'

export type Message = { kind: 'video' | 'audio'; timestamp: number; payload: Buffer }

/** What was published over one connection. */
type Publication = {
  streamKey: string
  messages: Message[]
  connection: Connection
  refusals: string[]
  hasEnded: boolean
}

type Options = {
  passphrase?: string
  latencyMs?: number
  refuse?(streamKey: string): { refused: string; kind: Refusal } | undefined
  /** Asked after each message: whether the next one has to wait. */
  drain?(): Promise<void> | undefined
}

const deps = { tools: { ffmpeg: 'ffmpeg' }, log: pino({ level: 'silent' }) }

const record = (messages: Message[]) => ({
  video: (timestamp: number, payload: Buffer) => void messages.push({ kind: 'video', timestamp, payload }),
  audio: (timestamp: number, payload: Buffer) => void messages.push({ kind: 'audio', timestamp, payload }),
  metadata() {},
})

/** Our own SRT server. It keeps what it receives. */
export async function startSrtServer(t: TestContext, options: Options = {}) {
  const { passphrase = null, latencyMs = 120, refuse, drain } = options
  const publications: Publication[] = []
  const ends: string[] = []
  const publish: Publish = async (streamKey, connection, verify): Promise<PublishAnswer> => {
    const problem = await verify?.(passphrase)
    if (problem !== undefined) return { refused: problem, kind: 'unauthorized' }
    const refused = refuse?.(streamKey)
    if (refused) return refused
    const publication: Publication = { streamKey, connection, messages: [], refusals: [], hasEnded: false }
    publications.push(publication)
    const publisher = {
      ...record(publication.messages),
      refuse: (reason: string) => void publication.refusals.push(reason),
      ...(drain && { drain }),
    }
    const onClose = async () => {
      publication.hasEnded = true
    }
    return { publisher, onClose }
  }
  const { port, close } = await listenForSrt({
    ...deps,
    ...{ host: '127.0.0.1', port: 0, latencyMs, publish },
    onRefused: (reason) => void ends.push(reason),
    onError(error) {
      throw error
    },
  })
  t.after(() => {
    close()
    for (const { connection } of publications) connection.close()
  })
  return { port, publications, ends }
}

/** Publishes MPEG-TS without a network. */
export function recordTs() {
  const messages: Message[] = []
  return { publisher: new TsPublisher(record(messages), { ...deps, onFailure() {} }), messages }
}

/** What a file contains. */
export function readTs(bytes: Buffer): Message[] {
  const { publisher, messages } = recordTs()
  publisher.receive(bytes)
  publisher.end()
  return messages
}

/** A file of MPEG-TS with H.264 with B-frames and AAC, unless the options say otherwise. */
export function makeTs(...options: string[]): Buffer {
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25:d=2', '-f', 'lavfi', '-i', 'sine=d=2']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '2', '-g', '25', '-c:a', 'aac']
  const args = ['-v', 'error', '-threads', '1', ...inputs, ...codecs, ...options, '-f', 'mpegts', 'pipe:1']
  return execFileSync('ffmpeg', args, { maxBuffer: 64 * 1024 * 1024 })
}

export const lacksSrt =
  !/^\s+srt$/m.test(execFileSync('ffmpeg', ['-v', 'error', '-protocols']).toString()) &&
  'ffmpeg is built without libsrt'

/** Sends a file with ffmpeg, in the speed of its timestamps. Resolves with the exit code and what it says. */
export async function sendTs(
  t: TestContext,
  path: string,
  port: number,
  query: Record<string, string | number>,
): Promise<{ code: number; output: string }> {
  // Otherwise, it would not send the end.
  const options = Object.entries({ linger: 10, ...query }).map(([name, value]) => `${name}=${value}`)
  const url = `srt://127.0.0.1:${port}?${options.join('&')}`
  const args = ['-v', 'warning', '-nostdin', '-re', '-i', path, '-c', 'copy', '-f', 'mpegts', url]
  const child = spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'exit')
  return { code, output }
}

type Network = {
  to: number
  loss: number
  jitterMs?: number
  lossyPackets?: number
  /** By default, packets of SRT. */
  hasContent?(packet: Buffer): boolean
}
type Relay = {
  port: number
  /** Packets with content. */
  dropped: number
  /** When the caller sent its first packet with content, in milliseconds since 1970. */
  firstDataAt(): number
}

/**
 * A network that loses a share of the packets in both directions, and delays each of them by up to `jitterMs`. After
 * `lossyPackets` of the caller, it loses nothing more: nobody notices that the very last packets are missing.
 */
export async function startLossyRelay(
  t: Pick<TestContext, 'after'> | { after(end: () => unknown): void },
  network: Network,
): Promise<Relay> {
  const { to, loss, jitterMs = 0, lossyPackets = Number.POSITIVE_INFINITY } = network
  const { hasContent = (packet) => !isControl(packet) } = network
  const [outside, inside] = [createSocket('udp4'), createSocket('udp4')]
  for (const socket of [outside, inside]) {
    const listening = once(socket, 'listening')
    socket.bind(0, '127.0.0.1')
    await listening
  }
  let caller: number | undefined
  let firstDataAt = 0
  let packets = 0
  const relay = { port: outside.address().port, dropped: 0, firstDataAt: () => firstDataAt }
  const forward = (socket: Socket, packet: Buffer, port: number | undefined) => {
    if (packets < lossyPackets && Math.random() < loss) relay.dropped += hasContent(packet) ? 1 : 0
    else if (jitterMs === 0) socket.send(packet, port, '127.0.0.1')
    else setTimeout(() => isOpen && socket.send(packet, port, '127.0.0.1'), jitterMs * Math.random())
  }
  outside.on('message', (packet, { port }) => {
    caller = port
    packets++
    if (firstDataAt === 0 && hasContent(packet)) firstDataAt = Date.now()
    forward(inside, packet, to)
  })
  inside.on('message', (packet) => forward(outside, packet, caller))
  let isOpen = true
  t.after(() => {
    isOpen = false
    outside.close()
    inside.close()
  })
  return relay
}

/** Numbers that look random, the same in each run. */
export function createRandom(seed = 1): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
