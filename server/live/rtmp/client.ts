import type { Socket } from 'node:net'
import { AmfError } from './amf0.ts'
import { RtmpError } from './chunks.ts'
import { ClientSession, RtmpRefused, type StreamMessageKind } from './client-session.ts'
import { beginHandshake, Handshake } from './handshake.ts'

export type RtmpClientOptions = {
  app: string
  tcUrl: string
  streamKey: string
  /** How long the server may take for each of its answers. */
  answerTimeoutMs: number
  /** The socket has room again after `isFull`. */
  onDrain(): void
}

/**
 * The connection cannot be used any more. The message is one sentence for the owner of the stream. A cause is a bug, and
 * is to be logged.
 */
export class RtmpClientError extends Error {}

/** Answers to the server that are not sent yet. A server that asks but does not read gets no more of them. */
const maxWaitingAnswers = 64
/**
 * How often it is checked whether the server receives the end of the stream, and the number of checks without progress,
 * and in total, after which the connection is closed. Checks are counted because a busy process is late for them.
 */
const endCheckMs = 500
const maxStalledEndChecks = 4
const maxEndChecks = 20

/** Publishes one stream to an RTMP server. */
export class RtmpClient {
  /** Fulfilled with the reason when the connection has ended. */
  readonly ended: Promise<RtmpClientError>
  readonly #socket: Socket
  readonly #session: ClientSession
  readonly #handshake = new Handshake('client')
  readonly #answerTimeoutMs: number
  readonly #published = Promise.withResolvers<void>()
  #isHandshakeComplete = false
  #reason: RtmpClientError | undefined
  #timer: NodeJS.Timeout | undefined
  #waitingAnswers = 0

  /** Fulfilled when the server has accepted the stream key. Throws `RtmpClientError`. */
  static async publish(socket: Socket, options: RtmpClientOptions): Promise<RtmpClient> {
    const client = new RtmpClient(socket, options)
    await client.#published.promise
    return client
  }

  private constructor(socket: Socket, { answerTimeoutMs, onDrain, ...names }: RtmpClientOptions) {
    this.#socket = socket
    this.#answerTimeoutMs = answerTimeoutMs
    this.#session = new ClientSession({
      ...names,
      send: (bytes) => this.#answer(bytes),
      onStep: (step) => (step === 'live' ? this.#start() : this.#expectAnswer()),
    })
    const ended = Promise.withResolvers<RtmpClientError>()
    this.ended = ended.promise
    socket.setNoDelay(true)
    socket.on('data', (bytes) => this.#receive(bytes))
    socket.on('drain', onDrain)
    socket.once('end', () => this.#fail('The server closed the connection.'))
    // An error also closes the socket.
    socket.on('error', () => {})
    const finish = () => {
      clearTimeout(this.#timer)
      const reason = this.#reason ?? new RtmpClientError('The connection to the server was lost.')
      this.#published.reject(reason)
      ended.resolve(reason)
    }
    if (socket.closed) {
      finish()
      return
    }
    socket.once('close', finish)
    this.#expectAnswer()
    socket.write(beginHandshake())
  }

  /** Whether the socket has more to send than it wants to keep in memory. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain
  }

  send(kind: StreamMessageKind, timestamp: number, payload: Buffer): void {
    this.#socket.write(this.#session.encode(kind, timestamp, payload))
  }

  /** Ends the stream after everything is sent, or when the server does not receive it in time. */
  async close(): Promise<void> {
    if (this.#socket.destroyed) return
    this.#session.end()
    this.#socket.end()
    let waitingBytes = this.#socket.writableLength
    let [checks, stalledChecks] = [0, 0]
    const timer = setInterval(() => {
      const { writableLength } = this.#socket
      stalledChecks = writableLength < waitingBytes ? 0 : stalledChecks + 1
      waitingBytes = writableLength
      if (stalledChecks === maxStalledEndChecks || ++checks === maxEndChecks) this.#socket.destroy()
    }, endCheckMs)
    await this.ended
    clearInterval(timer)
  }

  /** Closes the connection at once. */
  abort(reason: string): void {
    this.#fail(reason)
  }

  #receive(bytes: Buffer): void {
    try {
      const received = this.#isHandshakeComplete ? bytes : this.#receiveHandshake(bytes)
      if (received) this.#session.receive(received)
    } catch (error) {
      if (error instanceof RtmpRefused) this.#fail(error.message)
      else if (error instanceof RtmpError || error instanceof AmfError)
        this.#fail(`The server does not follow the protocol (${error.message}).`)
      // A bug. It must not end the process, which has other streams.
      else this.#fail('The connection failed.', error)
    }
  }

  #receiveHandshake(bytes: Buffer): Buffer | undefined {
    const rest = this.#handshake.receive(bytes, (answer) => this.#answer(answer))
    if (!rest) return undefined
    this.#isHandshakeComplete = true
    this.#expectAnswer()
    this.#session.begin()
    return rest
  }

  #answer(bytes: Buffer): void {
    if (this.#waitingAnswers >= maxWaitingAnswers) return
    this.#waitingAnswers++
    this.#socket.write(bytes, () => this.#waitingAnswers--)
  }

  #expectAnswer(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#fail('The server did not respond in time.'), this.#answerTimeoutMs)
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#published.resolve()
  }

  #fail(reason: string, cause?: unknown): void {
    this.#reason ??= new RtmpClientError(reason, { cause })
    this.#socket.destroy()
  }
}
