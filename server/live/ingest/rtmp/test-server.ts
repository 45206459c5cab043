import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Turns } from '../../../lib/turns.ts'
import type { AmfObject } from '../../rtmp/amf0.ts'
import { Handshake } from '../../rtmp/handshake.ts'
import type { PublishAnswer } from '../publisher.ts'
import { createRtmpServer } from './server.ts'
import { RtmpSession } from './session.ts'

export type Received =
  | { kind: 'video' | 'audio'; timestamp: number; payload: Buffer }
  | { kind: 'metadata'; values: AmfObject }

/** One connection that was allowed to publish. */
export type Publication = { streamKey: string; messages: Received[]; close(): void }

type Options = {
  tls?: { cert: Buffer; key: Buffer }
  /** A reason to refuse the stream key. */
  refuse?(streamKey: string): string | undefined
  /** Asked after each message: whether the next one has to wait. */
  drain?(): Promise<void> | undefined
  port?: number
}

/** Our own RTMP server. It keeps what it receives. */
export async function startRtmpServer(t: TestContext, { tls, refuse, drain, port = 0 }: Options = {}) {
  const publications: Publication[] = []
  const ends: string[] = []
  const sockets = new Set<Socket>()
  const options = {
    tls,
    async publish(streamKey: string, { close }: { close(): void }): Promise<PublishAnswer> {
      const refused = refuse?.(streamKey)
      if (refused !== undefined) return { refused, kind: 'unauthorized' }
      const publication: Publication = { streamKey, messages: [], close }
      publications.push(publication)
      return { publisher: { ...recordInto(publication.messages), ...(drain && { drain }) } }
    },
    onRefused: (reason: string) => void ends.push(reason),
    onError(error: unknown) {
      throw error
    },
  }
  const server = createRtmpServer(options)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    for (const each of sockets) each.destroy()
    if (server.listening) await new Promise((done) => server.close(done))
  }
  t.after(stop)
  const { port: used } = server.address() as { port: number }
  return { port: used, publications, ends, sockets, stop }
}

const recordInto = (messages: Received[]) => ({
  video: (timestamp: number, payload: Buffer) => void messages.push({ kind: 'video', timestamp, payload }),
  audio: (timestamp: number, payload: Buffer) => void messages.push({ kind: 'audio', timestamp, payload }),
  metadata: (values: AmfObject) => void messages.push({ kind: 'metadata', values }),
})

/** A server that accepts every stream key and then stops reading. `resume` reads the rest. */
export async function startStalledServer(t: TestContext) {
  const messages: Received[] = []
  const stalled = new Set<Socket>()
  const { port, sockets } = await startRawServer(t, (socket) => {
    const handshake = new Handshake()
    const send = (bytes: Buffer) => socket.write(bytes)
    const publish = async () => {
      stalled.add(socket.pause())
      return { publisher: recordInto(messages) }
    }
    const session = new RtmpSession({ turns: new Turns(), send, publish })
    let isComplete = false
    socket.on('data', (bytes) => {
      const rest = isComplete ? bytes : handshake.receive(bytes, send)
      isComplete ||= rest !== undefined
      const handled = rest && Promise.try(() => session.receive(rest))
      if (!handled) return
      socket.pause()
      const resume = () => !stalled.has(socket) && socket.resume()
      handled.then(resume, () => socket.destroy())
    })
  })
  const resume = () => {
    for (const socket of stalled) socket.resume()
    stalled.clear()
  }
  return { port, sockets, stalled, messages, resume }
}

/** A server that does what a test wants. */
export async function startRawServer(t: TestContext, onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    onSocket(socket)
    if (socket.listenerCount('data') === 0) socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const each of sockets) each.destroy()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, sockets }
}

export function makeCertificate(t: TestContext, name: string): { cert: Buffer; key: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'kinora-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [keyFile, certFile] = [join(folder, 'key'), join(folder, 'cert')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const args = ['req', '-x509', ...kind, '-keyout', keyFile, '-out', certFile, ...subject]
  execFileSync('openssl', args, { stdio: 'pipe' })
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
}

/** Much longer than anything takes on a busy machine. */
export const timeoutMs = 300_000

export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}
