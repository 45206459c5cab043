import { type AmfObject, type AmfValue, decodeAmf, encodeAmf, encodeEcmaArray } from './amf0.ts'
import {
  answerToPing,
  ChunkReader,
  encodeMessage,
  messageType,
  RtmpError,
  type RtmpMessage,
} from './chunks.ts'

/** The server refused or ended the stream. The message has the reason that the server gave. */
export class RtmpRefused extends Error {}

/** What the client waits for. */
export type Step = 'connect' | 'createStream' | 'publish' | 'live'

export type StreamMessageKind = 'video' | 'audio' | 'data'

/** The payload of a data message with the metadata of the stream. */
export const encodeMetadata = (values: AmfObject): Buffer =>
  Buffer.concat([encodeAmf('@setDataFrame', 'onMetaData'), encodeEcmaArray(values)])

type Deps = {
  app: string
  tcUrl: string
  streamKey: string
  send(bytes: Buffer): void
  onStep(step: Step): void
}

const transaction = { connect: 1, releaseStream: 2, fcPublish: 3, createStream: 4, publish: 5 } as const
/** Encoders use one chunk stream for each kind of message. Some servers rely on it. */
const chunkStreams = { control: 2, command: 3, audio: 4, data: 5, video: 6 } as const
/** Of what we send: until the server is told otherwise, and afterwards. */
const initialChunkSize = 128
const chunkSize = 4096
const windowBytes = 2_500_000
const minWindowBytes = 1024
/** Servers answer commands and send a few bytes for each window. More than this, and more than they receive, is abuse. */
const maxReceivedBytes = 1024 * 1024
/** A message can be as short as a byte, and takes much longer to handle than to send. */
const maxMessages = 1_000
const sentBytesPerMessage = 1_000
const maxReasonLength = 200

/** The client's side of an RTMP connection after the handshake. It publishes one stream. */
export class ClientSession {
  readonly #deps: Deps
  readonly #reader = new ChunkReader()
  #step: Step = 'connect'
  #chunkSize = initialChunkSize
  #streamId = 0
  #acknowledgeAfter = windowBytes
  #received = 0
  #receivedMessages = 0
  #acknowledged = 0
  #sentMedia = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get step(): Step {
    return this.#step
  }

  begin(): void {
    const { app, tcUrl } = this.#deps
    const properties = { app, type: 'nonprivate', flashVer: 'FMLE/3.0 (compatible; Kinora)', tcUrl }
    this.#command(0, 'connect', transaction.connect, properties)
  }

  /** Handles received bytes. Throws `RtmpError`, `AmfError` or `RtmpRefused`, after which the connection is useless. */
  receive(bytes: Buffer): void {
    this.#received += bytes.length
    if (this.#received > maxReceivedBytes + this.#sentMedia)
      throw new RtmpError('RTMP: the server sends more than it receives')
    for (const message of this.#reader.read(bytes)) this.#handle(message)
    if (this.#received - this.#acknowledged >= this.#acknowledgeAfter) this.#acknowledge()
  }

  /** The chunks of a message of the stream. The payload of audio and video is the body of an FLV tag. */
  encode(kind: StreamMessageKind, timestamp: number, payload: Buffer): Buffer {
    const message = { type: messageType[kind], streamId: this.#streamId, timestamp: timestamp >>> 0, payload }
    const bytes = encodeMessage(message, this.#chunkSize, chunkStreams[kind])
    this.#sentMedia += bytes.length
    return bytes
  }

  /** Tells the server that the stream ends. */
  end(): void {
    if (this.#streamId === 0) return
    this.#command(0, 'FCUnpublish', 6, null, this.#deps.streamKey)
    this.#command(0, 'deleteStream', 7, null, this.#streamId)
  }

  #handle({ type, payload }: RtmpMessage): void {
    if (++this.#receivedMessages > maxMessages + this.#sentMedia / sentBytesPerMessage)
      throw new RtmpError('RTMP: the server sends more than it receives')
    // An AMF3 command is an AMF0 command behind a zero byte.
    if (type === messageType.command) this.#handleCommand(decodeAmf(payload))
    if (type === messageType.amf3Command) this.#handleCommand(decodeAmf(payload.subarray(1)))
    if (type === messageType.windowSize && payload.length >= 4)
      this.#acknowledgeAfter = Math.max(minWindowBytes, payload.readUInt32BE())
    if (type === messageType.peerBandwidth) this.#send(messageType.windowSize, uint32(windowBytes))
    if (type === messageType.userControl) this.#handleUserControl(payload)
    // The reader applies the chunk size. Acknowledgements and other messages need no answer.
  }

  #handleUserControl(payload: Buffer): void {
    const response = answerToPing(payload)
    if (response) this.#send(messageType.userControl, response)
  }

  #handleCommand([name, id, , result]: AmfValue[]): void {
    if (name === '_result' && id === transaction.connect && this.#step === 'connect') this.#createStream()
    if (name === '_result' && id === transaction.createStream && this.#step === 'createStream')
      this.#publish(result)
    if (name === '_error') this.#handleError(id, result)
    if (name === 'onStatus') this.#handleStatus(result)
    if (name === 'close') throw new RtmpRefused('The server ended the stream.')
  }

  /** Many servers know neither releaseStream nor FCPublish, and work without them. */
  #handleError(id: AmfValue, info: AmfValue): void {
    if (id === transaction.releaseStream || id === transaction.fcPublish) return
    throw new RtmpRefused(`The server refused the stream: ${this.#reasonOf(info)}`)
  }

  #handleStatus(info: AmfValue): void {
    const { level, code } = propertiesOf(info)
    if (level === 'error') throw new RtmpRefused(`The server refused the stream: ${this.#reasonOf(info)}`)
    if (code === 'NetStream.Unpublish.Success') throw new RtmpRefused('The server ended the stream.')
    if (code === 'NetStream.Publish.Start' && this.#step === 'publish') this.#enter('live')
  }

  #createStream(): void {
    const { streamKey } = this.#deps
    this.#send(messageType.setChunkSize, uint32(chunkSize))
    this.#chunkSize = chunkSize
    this.#command(0, 'releaseStream', transaction.releaseStream, null, streamKey)
    this.#command(0, 'FCPublish', transaction.fcPublish, null, streamKey)
    this.#command(0, 'createStream', transaction.createStream, null)
    this.#enter('createStream')
  }

  #publish(streamId: AmfValue): void {
    if (typeof streamId !== 'number' || !Number.isInteger(streamId) || streamId < 1 || streamId >= 2 ** 32)
      throw new RtmpError('RTMP: the server created a stream without a number')
    this.#streamId = streamId
    this.#command(streamId, 'publish', transaction.publish, null, this.#deps.streamKey, 'live')
    this.#enter('publish')
  }

  #enter(step: Step): void {
    this.#step = step
    this.#deps.onStep(step)
  }

  /** The server's text for people. It is shown to the owner of the stream, so it never contains the stream key. */
  #reasonOf(info: AmfValue): string {
    const { description, code } = propertiesOf(info)
    const [text = 'it gave no reason.'] = [description, code].filter(
      (each) => typeof each === 'string' && each.trim() !== '',
    ) as string[]
    // Servers take the part after a question mark as parameters, and repeat the part before it.
    const { streamKey } = this.#deps
    const secrets = [streamKey, streamKey.split('?', 1)[0]!].filter((each) => each !== '')
    const clean = secrets.reduce((all, each) => all.replaceAll(each, '[stream key]'), text)
    return clean
      .replaceAll(/\p{Cc}+/gu, ' ')
      .trim()
      .slice(0, maxReasonLength)
  }

  #acknowledge(): void {
    this.#acknowledged = this.#received
    this.#send(messageType.acknowledgement, uint32(this.#received % 2 ** 32))
  }

  #command(streamId: number, ...values: AmfValue[]): void {
    this.#send(messageType.command, encodeAmf(...values), streamId, chunkStreams.command)
  }

  #send(type: number, payload: Buffer, streamId = 0, chunkStream: number = chunkStreams.control): void {
    this.#deps.send(encodeMessage({ type, streamId, timestamp: 0, payload }, this.#chunkSize, chunkStream))
  }
}

const propertiesOf = (value: AmfValue): AmfObject =>
  value && typeof value === 'object' && !Array.isArray(value) ? value : {}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
