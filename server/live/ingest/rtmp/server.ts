import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import type { TlsCertificate } from '../../../lib/tls-certificate.ts'
import { Turns } from '../../../lib/turns.ts'
import { AmfError } from '../../rtmp/amf0.ts'
import { RtmpError } from '../../rtmp/chunks.ts'
import { Handshake } from '../../rtmp/handshake.ts'
import type { IngestServer, Publish, PublishAnswer } from '../publisher.ts'
import { PendingConnections } from './pending-connections.ts'
import { RtmpSession, SessionEnded } from './session.ts'
import { SharedBufferServer } from './shared-buffer-server.ts'

type RtmpServerOptions = {
  tls?: { cert: Buffer; key: Buffer } | undefined
  publish: Publish
  /** A connection was ended because of what it sent, or because of its stream key. */
  onRefused(reason: string): void
  /** A connection was ended by an error of ours. */
  onError(error: unknown): void
}

type ListenOptions = Omit<RtmpServerOptions, 'tls'> & {
  host: string
  port: number
  tls?: TlsCertificate | undefined
}

/** Receives encoders over RTMP, or over RTMPS with a certificate. */
export async function listenForRtmp({ host, port, ...options }: ListenOptions): Promise<IngestServer> {
  const server = createRtmpServer(options)
  options.tls?.follow(server as TlsServer)
  server.listen(port, host)
  await once(server, 'listening')
  // A connection could not be accepted, because there are too many open files.
  server.on('error', options.onError)
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

export function createRtmpServer(options: RtmpServerOptions): Server {
  const pending = new PendingConnections()
  const turns = new Turns()
  const serve = (socket: Socket) => {
    socket.setNoDelay(true)
    // An error also closes the socket, which ends the loop that reads from it.
    socket.on('error', () => {})
    const connection = new ServerConnection(socket, { ...options, pending, turns })
    connection.run().catch(options.onError)
  }
  const server = options.tls
    ? createTlsServer(options.tls, serve)
    : new SharedBufferServer().on('connection', serve)
  // Before TLS begins.
  server.prependListener('connection', (socket: Socket) => pending.add(socket))
  // A failed TLS handshake has no connection yet.
  server.on('tlsClientError', () => {})
  return server
}

/** The socket was closed by either side. */
const closedCodes = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'])

type Deps = RtmpServerOptions & { pending: PendingConnections; turns: Turns }

/** One connection of an encoder. */
class ServerConnection {
  readonly #socket: Socket
  readonly #deps: Deps
  readonly #handshake = new Handshake()
  readonly #session: RtmpSession
  #isOpen = false
  #onClose: (() => Promise<void>) | undefined

  constructor(socket: Socket, deps: Deps) {
    this.#socket = socket
    this.#deps = deps
    this.#session = new RtmpSession({
      turns: deps.turns,
      send: (bytes) => socket.write(bytes),
      sent: () => (socket.writableNeedDrain ? drained(socket) : undefined),
      // What was received before a proper end is handled, although the socket is closed by then.
      isClosed: () => socket.destroyed && !socket.readableEnded,
      publish: (key) => this.#publish(key),
    })
  }

  async run(): Promise<void> {
    try {
      await this.#receive()
    } catch (error) {
      this.#report(error)
    } finally {
      // The client gets the last answer, unless it reads nothing.
      this.#socket.destroySoon()
      this.#deps.pending.add(this.#socket)
      await this.#onClose?.()
    }
  }

  /** Resolves when the connection has ended. Not by `for await`, which costs more than the rest of a frame. */
  async #receive(): Promise<void> {
    const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
    let handled: Promise<void> | undefined
    const onData = (bytes: Buffer) => {
      try {
        handled = this.#handle(bytes)
      } catch (error) {
        // What the client still sends is discarded.
        this.#socket.off('data', onData)
        reject(error)
        return
      }
      // Until then nothing more is read.
      if (!handled) return
      this.#socket.pause()
      handled.then(() => this.#socket.resume(), reject)
    }
    this.#socket.on('data', onData).once('end', resolve).once('close', resolve).once('error', reject)
    try {
      await ended
    } finally {
      this.#socket.off('data', onData)
      // The connection may end while its key is checked.
      await handled
    }
  }

  #handle(bytes: Buffer): Promise<void> | undefined {
    const received = this.#isOpen
      ? bytes
      : this.#handshake.receive(bytes, (answer) => this.#socket.write(answer))
    if (!received) return undefined
    this.#isOpen = true
    return this.#session.receive(received)
  }

  async #publish(streamKey: string): Promise<PublishAnswer> {
    const connection = {
      protocol: this.#deps.tls ? ('rtmps' as const) : ('rtmp' as const),
      remoteAddress: this.#socket.remoteAddress ?? '',
      isClosed: () => this.#socket.destroyed,
      close: () => void this.#socket.destroy(),
      probe: () => this.#session.acknowledge(),
    }
    const answer = await this.#deps.publish(streamKey, connection)
    if ('publisher' in answer) {
      this.#onClose = answer.onClose
      this.#deps.pending.remove(this.#socket)
    }
    return answer
  }

  #report(error: unknown): void {
    const isExpected = [RtmpError, AmfError, SessionEnded].some((kind) => error instanceof kind)
    const { code = '' } = error as NodeJS.ErrnoException
    if (isExpected) this.#deps.onRefused((error as Error).message)
    else if (!closedCodes.has(code)) this.#deps.onError(error)
  }
}

/** Resolves when the client has read what was sent. The answers to one that asks but does not read would fill the memory. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.once('drain', done).once('close', done)
  })
}
