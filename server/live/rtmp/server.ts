import type { Server, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { AmfError } from './amf0.ts'
import { RtmpError } from './chunks.ts'
import { Handshake } from './handshake.ts'
import { PendingConnections } from './pending-connections.ts'
import { type PublishAnswer, RtmpSession, SessionEnded } from './session.ts'
import { SharedBufferServer } from './shared-buffer-server.ts'

export type Connection = { remoteAddress: string; isClosed(): boolean; close(): void }

export type RtmpServerOptions = {
  tls?: { cert: Buffer; key: Buffer } | undefined
  /** Decides about a stream key. */
  publish(streamKey: string, connection: Connection): Promise<PublishAnswer>
  /** A connection was ended because of what it sent, or because of its stream key. */
  onRefused(reason: string): void
  /** A connection was ended by an error of ours. */
  onError(error: unknown): void
}

export function createRtmpServer(options: RtmpServerOptions): Server {
  const pending = new PendingConnections()
  const serve = (socket: Socket) => {
    socket.setNoDelay(true)
    // An error also closes the socket, which ends the loop that reads from it.
    socket.on('error', () => {})
    const connection = new ServerConnection(socket, options, pending)
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

/** One connection of an encoder. */
class ServerConnection {
  readonly #socket: Socket
  readonly #options: RtmpServerOptions
  readonly #pending: PendingConnections
  #isPublished = false
  #onClose: (() => Promise<void>) | undefined

  constructor(socket: Socket, options: RtmpServerOptions, pending: PendingConnections) {
    this.#socket = socket
    this.#options = options
    this.#pending = pending
  }

  async run(): Promise<void> {
    try {
      await this.#receive()
    } catch (error) {
      this.#report(error)
    } finally {
      // The client gets the last answer, unless it reads nothing.
      this.#socket.destroySoon()
      this.#pending.add(this.#socket)
      await this.#onClose?.()
    }
  }

  /** Resolves when the connection has ended. Not by `for await`, which costs more than the rest of a frame. */
  async #receive(): Promise<void> {
    const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
    const receive = this.#createReceiver()
    let handled: Promise<void> | undefined
    const onData = (bytes: Buffer) => {
      try {
        handled = receive(bytes)
      } catch (error) {
        // What the client still sends is discarded.
        this.#socket.off('data', onData)
        reject(error)
        return
      }
      // Keeps the back-pressure: while a key is checked, nothing more is read.
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

  #createReceiver(): (bytes: Buffer) => Promise<void> | undefined {
    const send = (bytes: Buffer) => this.#socket.write(bytes)
    const handshake = new Handshake()
    const session = new RtmpSession({ send, publish: (key) => this.#publish(key) })
    let isOpen = false
    return (bytes) => {
      // While a key is checked, the bytes after it have to wait, but their buffer is used for other connections.
      const own = this.#isPublished ? bytes : Buffer.from(bytes)
      const received = isOpen ? own : handshake.receive(own, send)
      if (!received) return undefined
      isOpen = true
      const handled = session.receive(received)
      if (handled) return handled.then(() => this.#answersRead())
      return this.#socket.writableNeedDrain ? this.#answersRead() : undefined
    }
  }

  /** The answers to a client that asks but does not read would fill the memory. */
  #answersRead(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off('drain', done).off('close', done)
        resolve()
      }
      if (this.#socket.destroyed || !this.#socket.writableNeedDrain) resolve()
      else this.#socket.once('drain', done).once('close', done)
    })
  }

  async #publish(streamKey: string): Promise<PublishAnswer> {
    const connection = {
      remoteAddress: this.#socket.remoteAddress ?? '',
      isClosed: () => this.#socket.destroyed,
      close: () => void this.#socket.destroy(),
    }
    const answer = await this.#options.publish(streamKey, connection)
    if ('publisher' in answer) {
      this.#isPublished = true
      this.#onClose = answer.onClose
      this.#pending.remove(this.#socket)
    }
    return answer
  }

  #report(error: unknown): void {
    const isExpected = [RtmpError, AmfError, SessionEnded].some((kind) => error instanceof kind)
    const { code = '' } = error as NodeJS.ErrnoException
    if (isExpected) this.#options.onRefused((error as Error).message)
    else if (!closedCodes.has(code)) this.#options.onError(error)
  }
}
