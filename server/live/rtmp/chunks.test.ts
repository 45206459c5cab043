import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ChunkReader, encodeMessage, messageType, RtmpError, type RtmpMessage } from './chunks.ts'

const message = fc.record(
  {
    type: fc.constantFrom(messageType.audio, messageType.video, messageType.data, messageType.command),
    streamId: fc.nat({ max: 2 ** 32 - 1 }),
    timestamp: fc.oneof(fc.nat({ max: 2 ** 32 - 1 }), fc.constantFrom(0, 0xfffffe, 0xffffff, 0x1000000)),
    payload: fc.uint8Array({ maxLength: 1_000 }).map((bytes) => Buffer.from(bytes)),
  },
  { noNullPrototype: true },
)

/** Splits bytes at random places. */
function split(bytes: Buffer, sizes: number[]): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length > 0 ? sizes[i % sizes.length]! : bytes.length
    parts.push(bytes.subarray(at, at + size))
    at += size
  }
  return parts
}

function readAll(reader: ChunkReader, parts: Buffer[]): RtmpMessage[] {
  return parts.flatMap((part) => [...reader.read(part)])
}

test('messages are read as they were sent, however the bytes are split', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 5 })
  const ids = fc.constantFrom(3, 63, 64, 319, 320, 65_599)
  fc.assert(
    fc.property(fc.array(fc.tuple(message, ids), { maxLength: 8 }), sizes, (sent, parts) => {
      const bytes = Buffer.concat(sent.map(([each, id]) => withChunkStreamId(encodeMessage(each, 128), id)))
      assert.deepEqual(
        readAll(new ChunkReader(), split(bytes, parts)),
        sent.map(([each]) => each),
      )
    }),
  )
})

/** Replaces the basic header of each chunk of a message that was encoded with one byte for the chunk stream. */
function withChunkStreamId(bytes: Buffer, id: number): Buffer {
  const isExtended = bytes.readUIntBE(1, 3) === 0xffffff
  const length = bytes.readUIntBE(4, 3)
  const parts: Buffer[] = []
  let at = 0
  for (let received = 0; at < bytes.length; received += 128) {
    const header = (received === 0 ? 11 : 0) + (isExtended ? 4 : 0)
    const size = header + Math.min(128, Math.max(0, length - received))
    parts.push(basicHeader(bytes[at]! >> 6, id), bytes.subarray(at + 1, at + 1 + size))
    at += 1 + size
  }
  return Buffer.concat(parts)
}

function basicHeader(format: number, id: number): Buffer {
  if (id < 64) return Buffer.from([(format << 6) | id])
  if (id < 320) return Buffer.from([format << 6, id - 64])
  return Buffer.from([(format << 6) | 1, (id - 64) & 255, (id - 64) >> 8])
}

test('headers without all fields take them from the message before', () => {
  const reader = new ChunkReader()
  const first = encodeMessage({ type: 9, streamId: 1, timestamp: 1_000, payload: Buffer.from('abc') }, 128, 4)
  const withType = Buffer.from([0x44, 0, 0, 40, 0, 0, 2, 8, ...Buffer.from('de')])
  const withTime = Buffer.from([0x84, 0, 0, 20, ...Buffer.from('fg')])
  const withNothing = Buffer.from([0xc4, ...Buffer.from('hi')])
  const messages = readAll(reader, [first, withType, withTime, withNothing])
  assert.deepEqual(
    messages.map(({ type, streamId, timestamp, payload }) => [type, streamId, timestamp, String(payload)]),
    [
      [9, 1, 1_000, 'abc'],
      [8, 1, 1_040, 'de'],
      [8, 1, 1_060, 'fg'],
      [8, 1, 1_080, 'hi'],
    ],
  )
})

const chunkSize = (size: number) => {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(size)
  return encodeMessage({ type: messageType.setChunkSize, streamId: 0, timestamp: 0, payload }, 128)
}

test('a new chunk size applies to the chunks after it', () => {
  const payload = Buffer.alloc(5_000, 7)
  const reader = new ChunkReader()
  const parts = [chunkSize(4096), encodeMessage({ type: 9, streamId: 1, timestamp: 0, payload }, 4096)]
  assert.deepEqual(readAll(reader, parts).at(-1)?.payload, payload)
})

test('chunks of different messages can be mixed, and an abort discards a message', () => {
  const reader = new ChunkReader()
  const [a, b] = [Buffer.alloc(200, 1), Buffer.alloc(200, 2)]
  const [one, two] = [a, b].map((payload, i) =>
    encodeMessage({ type: 8, streamId: 1, timestamp: 0, payload }, 128, 4 + i),
  ) as [Buffer, Buffer]
  const first = 12 + 128
  const mixed = [one.subarray(0, first), two.subarray(0, first), one.subarray(first), two.subarray(first)]
  assert.deepEqual(
    readAll(reader, mixed).map(({ payload }) => payload),
    [a, b],
  )
  const abort = encodeMessage(
    { type: messageType.abort, streamId: 0, timestamp: 0, payload: Buffer.from([0, 0, 0, 4]) },
    128,
  )
  assert.deepEqual(
    readAll(reader, [one.subarray(0, first), abort, two]).map(({ type }) => type),
    [messageType.abort, 8],
  )
})

test('sizes and numbers that no encoder needs are rejected', () => {
  const rejects = (pattern: RegExp, ...parts: Buffer[]) =>
    assert.throws(() => readAll(new ChunkReader(), parts), pattern)
  rejects(/chunk size 0/, chunkSize(0))
  rejects(/chunk size 4294967295/, chunkSize(0xffffffff))
  const header = (length: number) =>
    Buffer.from([4, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255, 9, 1, 0, 0, 0])
  rejects(/too large/, header(1_000_000))
  rejects(/no complete header/, Buffer.from([0xc4]))
  rejects(/before the previous/, Buffer.concat([header(300), Buffer.alloc(128), header(300)]))
  const empty = { type: 8, streamId: 1, timestamp: 0, payload: Buffer.alloc(0) }
  rejects(/too many chunk streams/, ...Array.from({ length: 40 }, (_, i) => encodeMessage(empty, 128, 2 + i)))
  const begun = (id: number) => {
    const bytes = Buffer.concat([header(60_000), Buffer.alloc(50_000)])
    bytes[0] = id
    return bytes
  }
  rejects(/too large/, chunkSize(50_000), begun(4), begun(5), begun(6))
})

test('a large message is accepted after the stream key, and takes no more memory than was received', () => {
  const reader = new ChunkReader()
  reader.allowMedia()
  const payload = Buffer.alloc(5_000_000, 3)
  const bytes = Buffer.concat([
    chunkSize(65_536),
    encodeMessage({ type: 9, streamId: 1, timestamp: 0, payload }, 65_536),
  ])
  assert.ok(
    readAll(reader, split(bytes, [1_460]))
      .at(-1)!
      .payload.equals(payload),
  )
})

test('damaged streams of bytes throw an RtmpError and nothing else', () => {
  const sessions = fc.array(message, { minLength: 1, maxLength: 5 })
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 5 })
  fc.assert(
    fc.property(sessions, damage, (sent, changes) => {
      const bytes = Buffer.concat(sent.map((each) => encodeMessage(each, 128)))
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      try {
        readAll(new ChunkReader(), [bytes])
      } catch (error) {
        assert.ok(error instanceof RtmpError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})
