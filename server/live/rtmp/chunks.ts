/** A message of RTMP, assembled from its chunks. */
export type RtmpMessage = {
  type: number
  streamId: number
  /** In milliseconds. It wraps around after 49 days. */
  timestamp: number
  payload: Buffer
}

export const messageType = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowSize: 5,
  peerBandwidth: 6,
  audio: 8,
  video: 9,
  amf3Data: 15,
  amf3Command: 17,
  data: 18,
  command: 20,
} as const

/** Bytes that do not follow the protocol, or that exceed a limit. The connection is closed. */
export class RtmpError extends Error {}

export const limits = {
  /** The largest that the protocol allows for. It needs no memory by itself. */
  maxChunkSize: 16 * 1024 * 1024,
  /** Commands and metadata are short. Until the stream key is accepted, nothing may be longer. */
  maxCommandBytes: 64 * 1024,
  /** Some relays send metadata with an index of all key frames. It is not decoded, which would take long. */
  maxIgnoredBytes: 1024 * 1024,
  /** A key frame of 4K video at 50 Mbit/s has about 1 MB. */
  maxMediaBytes: 8 * 1024 * 1024,
  /** Encoders use fewer than ten. */
  maxChunkStreams: 32,
} as const

const extendedTimestamp = 0xffffff
const initialChunkSize = 128
/** The length of the message header by the format of the chunk. */
const messageHeaderLengths = [11, 7, 3, 0] as const
const maxHeaderLength = 3 + 11 + 4
const initialPayloadBytes = 4 * 1024
/**
 * Frames up to this size share a block of memory. Each buffer of its own costs the garbage collector more time than all
 * that is done with the frame.
 */
const maxSharedBytes = 16 * 1024
const blockBytes = 64 * 1024

const nothing = Buffer.alloc(0)

/** The state of a chunk stream: the header of its last message, and what was received of it. */
type ChunkStream = {
  type: number
  streamId: number
  length: number
  timestamp: number
  /** The timestamp field of the last header: the difference to the previous message, or in format 0 the time itself. */
  timestampField: number
  isExtended: boolean
  payload: Buffer
  received: number
}

/** A chunk, and how many of its bytes are missing. */
type Chunk = { stream: ChunkStream; left: number }

/**
 * Assembles messages from the bytes of a connection, which may be split anywhere. An incomplete message takes at most
 * twice the memory of what was received of it, however long it claims to be. Short frames take all of it from the beginning.
 */
export class ChunkReader {
  #input: Buffer = nothing
  #at = 0
  #chunkSize = initialChunkSize
  #maxMediaBytes: number = limits.maxCommandBytes
  #maxOtherBytes: number = limits.maxCommandBytes
  /** Received bytes of all incomplete messages. */
  #pending = 0
  readonly #streams = new Map<number, ChunkStream>()
  /** The beginning of the header that is being received. */
  readonly #header = Buffer.alloc(maxHeaderLength)
  #headerLength = 0
  /** The chunk whose header is complete. */
  #chunk: Chunk | undefined
  /** The rest of the block that short frames share. Undefined until they are accepted, and after an abort. */
  #block: Buffer | undefined

  /** Audio and video are accepted from now on, and what is too long to be decoded. */
  allowMedia(): void {
    this.#maxMediaBytes = limits.maxMediaBytes
    this.#maxOtherBytes = limits.maxIgnoredBytes
    this.#block = nothing
  }

  /** Yields the messages that the bytes complete. Throws `RtmpError`. */
  *read(bytes: Buffer): Generator<RtmpMessage> {
    this.add(bytes)
    while (this.unreadBytes > 0) {
      const message = this.readChunk()
      if (message) yield message
    }
  }

  /** Adds received bytes, after the bytes before them have been read. */
  add(bytes: Buffer): void {
    this.#input = bytes
    this.#at = 0
  }

  get unreadBytes(): number {
    return this.#input.length - this.#at
  }

  /** The memory of the added bytes is about to be used for others. */
  keepUnread(): void {
    this.add(Buffer.from(this.#input.subarray(this.#at)))
  }

  discardUnread(): void {
    this.add(nothing)
  }

  /** Reads one chunk, or what there is of it. Returns the message that it completes. Throws `RtmpError`. */
  readChunk(): RtmpMessage | undefined {
    this.#chunk ??= this.#readHeader()
    if (!this.#chunk) return undefined
    const { stream, left } = this.#chunk
    const size = Math.min(left, this.unreadBytes)
    this.#append(stream, this.#input, this.#at, size)
    this.#at += size
    this.#chunk.left -= size
    if (size < left) return undefined
    this.#chunk = undefined
    if (stream.received < stream.length) return undefined
    const message = this.#complete(stream)
    this.#applyControl(message)
    return message
  }

  /** Copies bytes until the header is complete. Undefined if it is not. */
  #readHeader(): Chunk | undefined {
    for (;;) {
      const missing = this.#requiredHeaderLength() - this.#headerLength
      if (missing === 0) break
      const size = Math.min(missing, this.unreadBytes)
      if (size === 0) return undefined
      this.#input.copy(this.#header, this.#headerLength, this.#at, this.#at + size)
      this.#headerLength += size
      this.#at += size
    }
    const chunk = this.#beginChunk()
    this.#headerLength = 0
    return chunk
  }

  /** The length of the header as far as the received part tells. */
  #requiredHeaderLength(): number {
    if (this.#headerLength === 0) return 1
    const basic = basicHeaderLength(this.#header)
    if (this.#headerLength < basic) return basic
    const format = this.#header[0]! >> 6
    const fixed = basic + messageHeaderLengths[format]!
    if (this.#headerLength < fixed) return fixed
    const isExtended =
      format === 3
        ? this.#streams.get(chunkStreamIdOf(this.#header))?.isExtended
        : this.#header.readUIntBE(basic, 3) === extendedTimestamp
    return isExtended ? fixed + 4 : fixed
  }

  #beginChunk(): Chunk {
    const header = this.#header
    const format = header[0]! >> 6
    const stream = this.#findStream(chunkStreamIdOf(header), format)
    if (stream.received > 0 && format !== 3)
      throw new RtmpError('RTMP: a message begins before the previous message of its chunk stream has ended')
    if (stream.received === 0) this.#beginMessage(stream, header.subarray(0, this.#headerLength), format)
    return { stream, left: Math.min(this.#chunkSize, stream.length - stream.received) }
  }

  /** Reads the header of a message. Fields that the format leaves out are those of the previous message. */
  #beginMessage(stream: ChunkStream, header: Buffer, format: number): void {
    const from = basicHeaderLength(header)
    if (format <= 2) {
      const field = header.readUIntBE(from, 3)
      stream.isExtended = field === extendedTimestamp
      stream.timestampField = stream.isExtended ? header.readUInt32BE(header.length - 4) : field
    }
    if (format <= 1) {
      stream.length = header.readUIntBE(from + 3, 3)
      stream.type = header[from + 6]!
      if (stream.length > (isMedia(stream) ? this.#maxMediaBytes : this.#maxOtherBytes))
        throw new RtmpError(`RTMP: a message of ${stream.length} bytes is too large`)
    }
    if (format === 0) stream.streamId = header.readUInt32LE(from + 7)
    const start = format === 0 ? 0 : stream.timestamp
    stream.timestamp = (start + stream.timestampField) >>> 0
  }

  #findStream(id: number, format: number): ChunkStream {
    const known = this.#streams.get(id)
    if (known) return known
    if (format !== 0) throw new RtmpError('RTMP: the first chunk of a chunk stream has no complete header')
    if (this.#streams.size >= limits.maxChunkStreams) throw new RtmpError('RTMP: too many chunk streams')
    const stream: ChunkStream = {
      type: 0,
      streamId: 0,
      length: 0,
      timestamp: 0,
      timestampField: 0,
      isExtended: false,
      payload: nothing,
      received: 0,
    }
    this.#streams.set(id, stream)
    return stream
  }

  #append(stream: ChunkStream, bytes: Buffer, at: number, size: number): void {
    this.#pending += size
    if (this.#pending > 2 * this.#maxMediaBytes)
      throw new RtmpError('RTMP: the incomplete messages are too large')
    const received = stream.received + size
    if (received > stream.payload.length) {
      const payload = this.#allocate(stream, received)
      stream.payload.copy(payload, 0, 0, stream.received)
      stream.payload = payload
    }
    bytes.copy(stream.payload, stream.received, at, at + size)
    stream.received = received
  }

  #allocate({ length, payload }: ChunkStream, received: number): Buffer {
    if (!this.#block || length > maxSharedBytes) {
      const capacity = Math.max(received, 2 * payload.length, initialPayloadBytes)
      return Buffer.allocUnsafe(Math.min(length, capacity))
    }
    const block = this.#block.length >= length ? this.#block : Buffer.allocUnsafeSlow(blockBytes)
    this.#block = block.subarray(length)
    return block.subarray(0, length)
  }

  #complete(stream: ChunkStream): RtmpMessage {
    const { type, streamId, timestamp, received } = stream
    const payload = stream.payload.subarray(0, received)
    this.#discard(stream)
    return { type, streamId, timestamp, payload }
  }

  #discard(stream: ChunkStream): void {
    this.#pending -= stream.received
    stream.payload = nothing
    stream.received = 0
  }

  #applyControl({ type, payload }: RtmpMessage): void {
    if (type === messageType.setChunkSize) {
      const size = payload.length >= 4 ? payload.readUInt32BE() : 0
      if (size < 1 || size > limits.maxChunkSize)
        throw new RtmpError(`RTMP: the chunk size ${size} is not allowed`)
      this.#chunkSize = size
    }
    if (type === messageType.abort && payload.length >= 4) {
      const stream = this.#streams.get(payload.readUInt32BE())
      if (stream) this.#discard(stream)
      // Frames that never arrive would take most of each block.
      this.#block = undefined
    }
  }
}

export const isMedia = ({ type }: Pick<RtmpMessage, 'type'>): boolean =>
  type === messageType.audio || type === messageType.video

/** One byte for the ids 2 to 63, two for 64 to 319, three for larger ones. */
const basicHeaderLength = (header: Buffer) => [2, 3][header[0]! & 63] ?? 1

function chunkStreamIdOf(header: Buffer): number {
  const id = header[0]! & 63
  if (id === 0) return header[1]! + 64
  return id === 1 ? header.readUInt16LE(1) + 64 : id
}

/** Splits a message into chunks. Chunks of one message are not mixed with others, so one chunk stream is enough. */
export function encodeMessage(
  { type, streamId, timestamp, payload }: RtmpMessage,
  chunkSize: number,
  chunkStreamId = type === messageType.command ? 3 : 2,
): Buffer {
  const isExtended = timestamp >= extendedTimestamp
  const extension = Buffer.alloc(isExtended ? 4 : 0)
  if (isExtended) extension.writeUInt32BE(timestamp)
  const header = Buffer.alloc(12)
  header[0] = chunkStreamId
  header.writeUIntBE(isExtended ? extendedTimestamp : timestamp, 1, 3)
  header.writeUIntBE(payload.length, 4, 3)
  header[7] = type
  header.writeUInt32LE(streamId, 8)
  const parts = [header, extension, payload.subarray(0, chunkSize)]
  for (let from = chunkSize; from < payload.length; from += chunkSize)
    parts.push(Buffer.from([0xc0 | chunkStreamId]), extension, payload.subarray(from, from + chunkSize))
  return Buffer.concat(parts)
}

/** The answer to a user control message. Undefined if the message is not a ping. */
export function answerToPing(payload: Buffer): Buffer | undefined {
  const pingRequest = 6
  const pingResponse = 7
  if (payload.length < 6 || payload.readUInt16BE() !== pingRequest) return undefined
  const response = Buffer.from(payload.subarray(0, 6))
  response.writeUInt16BE(pingResponse)
  return response
}
