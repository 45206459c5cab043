import type { Turns } from '../../../lib/turns.ts'
import { UnsupportedStream } from '../../../media/h264.ts'
import { type AmfValue, decodeAmf, encodeAmf } from '../../rtmp/amf0.ts'
import {
  answerToPing,
  ChunkReader,
  encodeMessage,
  isMedia,
  limits,
  messageType,
  RtmpError,
  type RtmpMessage,
} from '../../rtmp/chunks.ts'
import type { PublishAnswer, Publisher } from '../publisher.ts'

type Deps = {
  turns: Turns
  send(bytes: Buffer): void
  /** Undefined, or a promise that resolves when the client has read the answers. */
  sent?(): Promise<void> | undefined
  /** The connection was lost or closed. What it sent and was not handled is discarded. */
  isClosed?(): boolean
  /** Decides about a stream key. */
  publish(streamKey: string): Promise<PublishAnswer>
}

/** The path of the ingest URL: `rtmp://host/s`. */
const application = 's'
/** Of what we send: until the client is told otherwise, and afterwards. */
const initialChunkSize = 128
const chunkSize = 4096
const windowBytes = 2_500_000
const maxCreatedStreams = 8
/** Encoders send about ten messages and 1 KB before their stream key is accepted. */
const maxUnpublished = { messages: 200, bytes: 256 * 1024 }

/** The encoder ended the stream, or it was refused. The connection can be closed. */
export class SessionEnded extends Error {}

/** The server's side of an RTMP connection after the handshake, for encoders only: nothing is played over RTMP. */
export class RtmpSession {
  readonly #deps: Deps
  readonly #reader = new ChunkReader()
  #application: string | undefined
  #chunkSize = initialChunkSize
  #createdStreams = 0
  #publisher: Publisher | undefined
  #unpublishedMessages = 0
  /** The encoder wants an acknowledgement after this number of bytes. */
  #acknowledgeAfter = windowBytes
  #received = 0
  #acknowledged = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Handles received bytes. Returns a promise if nothing more can be received until then. Throws `RtmpError`, `AmfError` or
   * `SessionEnded`, or rejects with them, after which the connection is useless.
   */
  receive(bytes: Buffer): Promise<void> | undefined {
    this.#received += bytes.length
    this.#reader.add(bytes)
    const wait = this.#handleUnread()
    if (!wait) return undefined
    this.#reader.keepUnread()
    return this.#handleRest(wait)
  }

  async #handleRest(first: Promise<void>): Promise<void> {
    let wait: Promise<void> | undefined = first
    while (wait) {
      await wait
      if (this.#deps.isClosed?.()) return
      wait = this.#handleUnread()
    }
  }

  /**
   * Handles messages until none is left, or until the returned promise. Without promises where possible, because a video
   * has hundreds of messages per second.
   */
  #handleUnread(): Promise<void> | undefined {
    const { turns, sent } = this.#deps
    while (this.#reader.unreadBytes > 0) {
      if (this.#publisher?.isOver) {
        this.#reader.discardUnread()
        break
      }
      if (turns.isOver()) return turns.next()
      const message = this.#reader.readChunk()
      if (!this.#publisher) this.#limitUnpublished(message)
      const wait = message && (this.#handle(message) ?? this.#publisher?.drain?.() ?? sent?.())
      if (wait) return wait
    }
    if (this.#received - this.#acknowledged >= this.#acknowledgeAfter) this.acknowledge()
    return undefined
  }

  /** Tells the encoder how much was received. */
  acknowledge(): void {
    this.#acknowledged = this.#received
    this.#send(messageType.acknowledgement, uint32(this.#received % 2 ** 32))
  }

  #limitUnpublished(message: RtmpMessage | undefined): void {
    if (message) this.#unpublishedMessages++
    const bytes = this.#received - this.#reader.unreadBytes
    if (this.#unpublishedMessages > maxUnpublished.messages || bytes > maxUnpublished.bytes)
      throw new RtmpError('RTMP: too much was sent before the stream was published')
  }

  #handle(message: RtmpMessage): Promise<void> | undefined {
    const { type, payload } = message
    if (payload.length > limits.maxCommandBytes && !isMedia(message)) return undefined
    switch (type) {
      case messageType.video:
      case messageType.audio:
        this.#handleMedia(message)
        return undefined
      case messageType.data:
        this.#handleData(decodeAmf(payload))
        return undefined
      case messageType.command:
        return this.#handleCommand(message, payload)
      case messageType.amf3Command:
        // An AMF3 command is an AMF0 command behind a zero byte, unless it switches to AMF3, which encoders do not.
        return this.#handleCommand(message, payload.subarray(1))
      case messageType.windowSize:
        if (payload.length >= 4) this.#acknowledgeAfter = Math.max(1024, payload.readUInt32BE())
        return undefined
      case messageType.userControl:
        this.#handleUserControl(payload)
        return undefined
      default:
        // Other messages have no meaning for a server that only receives.
        return undefined
    }
  }

  #handleMedia({ type, streamId, timestamp, payload }: RtmpMessage): void {
    if (!this.#publisher) throw new RtmpError('RTMP: audio or video before the stream was published')
    try {
      if (type === messageType.video) this.#publisher.video(timestamp, payload)
      else this.#publisher.audio(timestamp, payload)
    } catch (error) {
      if (!(error instanceof UnsupportedStream)) throw error
      this.#status(streamId, 'error', 'NetStream.Publish.Rejected', error.message)
      throw new SessionEnded(error.message)
    }
  }

  #handleData(values: AmfValue[]): void {
    const [name, event, body] = values
    const metadata =
      name === '@setDataFrame' && event === 'onMetaData' ? body : name === 'onMetaData' ? event : undefined
    if (metadata && typeof metadata === 'object' && !Array.isArray(metadata))
      this.#publisher?.metadata(metadata)
  }

  #handleUserControl(payload: Buffer): void {
    const response = answerToPing(payload)
    if (response) this.#send(messageType.userControl, response)
  }

  #handleCommand({ streamId }: RtmpMessage, payload: Buffer): Promise<void> | undefined {
    const [name, transaction, object, argument] = decodeAmf(payload)
    const id = typeof transaction === 'number' ? transaction : 0
    switch (name) {
      case 'connect':
        this.#connect(id, object)
        return undefined
      case 'createStream':
        if (++this.#createdStreams > maxCreatedStreams) throw new RtmpError('RTMP: too many streams')
        this.#command(0, '_result', id, null, this.#createdStreams)
        return undefined
      case 'publish':
        return this.#publish(streamId, typeof argument === 'string' ? argument : '')
      case 'play':
        this.#status(streamId, 'error', 'NetStream.Play.StreamNotFound', 'Streams are played over HLS.')
        throw new SessionEnded('The client tried to play a stream over RTMP.')
      case 'FCUnpublish':
      case 'deleteStream':
      case 'closeStream':
        if (this.#publisher) throw new SessionEnded('The encoder ended the stream.')
        return undefined
      default:
        return undefined
    }
  }

  #connect(transaction: number, properties: AmfValue): void {
    if (this.#application !== undefined) throw new RtmpError('RTMP: connected twice')
    const app =
      properties && typeof properties === 'object' && !Array.isArray(properties) ? properties.app : ''
    this.#application = typeof app === 'string' ? app : ''
    const [first] = this.#application.split(/[/?]/)
    if (first !== application) {
      const description = `The URL must be rtmp://host/${application}.`
      const info = { level: 'error', code: 'NetConnection.Connect.Rejected', description }
      this.#command(0, '_error', transaction, null, info)
      throw new SessionEnded('The URL has an unknown application.')
    }
    this.#send(messageType.windowSize, uint32(windowBytes))
    const dynamic = 2
    this.#send(messageType.peerBandwidth, Buffer.concat([uint32(windowBytes), Buffer.from([dynamic])]))
    this.#send(messageType.setChunkSize, uint32(chunkSize))
    this.#chunkSize = chunkSize
    const server = { fmsVer: 'FMS/3,0,1,123', capabilities: 31 }
    const info = {
      level: 'status',
      code: 'NetConnection.Connect.Success',
      description: 'Connected.',
      objectEncoding: 0,
    }
    this.#command(0, '_result', transaction, server, info)
  }

  async #publish(streamId: number, name: string): Promise<void> {
    if (this.#application === undefined) throw new RtmpError('RTMP: published before connecting')
    if (this.#publisher) throw new RtmpError('RTMP: published twice')
    // Some encoders append the key to the address: rtmp://host/s/KEY with an empty stream name.
    const key = withoutQuery(name) || withoutQuery(this.#application).split('/').slice(1).join('/')
    const answer = await this.#deps.publish(key)
    if ('refused' in answer) {
      this.#status(streamId, 'error', 'NetStream.Publish.BadName', answer.refused)
      throw new SessionEnded(answer.refused)
    }
    this.#publisher = answer.publisher
    this.#reader.allowMedia()
    const streamBegin = Buffer.alloc(6)
    streamBegin.writeUInt32BE(streamId, 2)
    this.#send(messageType.userControl, streamBegin)
    this.#status(streamId, 'status', 'NetStream.Publish.Start', 'The stream is being received.')
  }

  #status(streamId: number, level: 'status' | 'error', code: string, description: string): void {
    this.#command(streamId, 'onStatus', 0, null, { level, code, description })
  }

  #command(streamId: number, ...values: AmfValue[]): void {
    this.#send(messageType.command, encodeAmf(...values), streamId)
  }

  #send(type: number, payload: Buffer, streamId = 0): void {
    this.#deps.send(encodeMessage({ type, streamId, timestamp: 0, payload }, this.#chunkSize))
  }
}

const withoutQuery = (text: string) => text.split('?', 1)[0] ?? ''

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
