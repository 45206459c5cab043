import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnsupportedStream } from '../../../media/h264.ts'
import { until } from '../rtmp/test-server.ts'
import { createRandom, type Message, makeTs, readTs, recordTs } from './test-server.ts'

const bytes = makeTs()
const whole = readTs(bytes)
const packetLength = 188
const packets = Array.from({ length: bytes.length / packetLength }, (_, i) =>
  bytes.subarray(i * packetLength, (i + 1) * packetLength),
)
const pidOf = (packet: Buffer) => packet.readUInt16BE(1) & 0x1fff

const payloadsOf = (messages: Message[], kind?: Message['kind']) =>
  messages.filter((each) => !kind || each.kind === kind).map(({ payload }) => payload.toString('base64'))
const timesOf = (messages: Message[], kind: Message['kind']) =>
  messages.filter((each) => each.kind === kind).map(({ timestamp }) => timestamp - messages[0]!.timestamp)

test('frames have their times in milliseconds, with the offset of their presentation', () => {
  const video = whole.filter(({ kind }) => kind === 'video')
  // The configuration, and 50 frames without the last one, whose end is not known.
  assert.equal(video.length, 1 + 49)
  const [config, first, second] = video
  assert.deepEqual([...config!.payload.subarray(0, 6)], [0x17, 0, 0, 0, 0, 1])
  assert.deepEqual([first!.payload[0], second!.payload[0]], [0x17, 0x27])
  assert.deepEqual([second!.timestamp - first!.timestamp, first!.payload.readIntBE(2, 3)], [40, 80])
  const audio = whole.filter(({ kind }) => kind === 'audio')
  assert.deepEqual([...audio[0]!.payload], [0xaf, 0, 0x12, 0x08])
  assert.deepEqual(timesOf(audio, 'audio').slice(1, 5), [0, 23, 46, 69])
})

test('the bytes may be divided anywhere, and begin and continue after garbage', () => {
  const random = createRandom()
  const { publisher, messages } = recordTs()
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor(400 * random())
    publisher.receive(bytes.subarray(at, at + length))
    at += length
  }
  publisher.end()
  assert.deepEqual(payloadsOf(messages), payloadsOf(whole))
  const garbage = Buffer.from(Array.from({ length: 1_000 }, () => Math.floor(256 * random())))
  assert.deepEqual(payloadsOf(readTs(Buffer.concat([garbage, bytes]))), payloadsOf(whole))
  const cut = packetLength * Math.floor(packets.length / 2)
  const interrupted = readTs(Buffer.concat([bytes.subarray(0, cut), garbage, bytes.subarray(cut)]))
  assert.ok(interrupted.length >= whole.length - 3, `${interrupted.length} of ${whole.length}`)
})

test('a frame of which a packet is missing is left out, and all others are complete', () => {
  const known = new Set(payloadsOf(whole))
  const received = readTs(Buffer.concat(packets.filter((_, i) => i % 40 !== 39)))
  const video = payloadsOf(received, 'video')
  assert.ok(video.length > 10 && video.length < 45, `${video.length} frames`)
  for (const payload of video) assert.ok(known.has(payload))
})

test('without a table of programs, nothing is published and nothing is kept', () => {
  const { publisher, messages } = recordTs()
  const withoutTable = Buffer.concat(packets.filter((packet) => pidOf(packet) !== 0))
  const before = process.memoryUsage().arrayBuffers
  for (let minute = 0; minute < 60; minute++) publisher.receive(withoutTable)
  assert.equal(messages.length, 0)
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024)
  publisher.receive(bytes)
  publisher.end()
  assert.equal(messages.length, whole.length)
})

test('program, streams and PIDs may change', () => {
  const other = makeTs('-mpegts_start_pid', '0x300', '-mpegts_pmt_start_pid', '0x1200')
  const both = readTs(Buffer.concat([bytes, other]))
  assert.deepEqual(payloadsOf(both), [...payloadsOf(whole), ...payloadsOf(readTs(other))])
})

test('timestamps continue when the clock of MPEG-TS wraps around after 26 hours', () => {
  const wrapped = readTs(makeTs('-output_ts_offset', `${2 ** 33 / 90_000 - 2.4}`))
  for (const kind of ['video', 'audio'] as const) {
    const times = timesOf(wrapped, kind)
    const expected = timesOf(whole, kind)
    assert.equal(times.length, expected.length)
    for (const [i, time] of times.entries()) assert.ok(Math.abs(time - expected[i]!) <= 1, `${time}`)
  }
})

test('a jump of the clock remains, for the timeline to correct', () => {
  const later = makeTs('-output_ts_offset', '1000')
  const times = timesOf(readTs(Buffer.concat([bytes, later])), 'video')
  const jump = times.findIndex((time, i) => time - times[i - 1]! > 990_000)
  assert.ok(jump > 40, `${jump}`)
  assert.ok(times.at(-1)! - times[jump]! < 2_000)
})

test('damaged bytes cause no other error than that of an unsupported codec', () => {
  const random = createRandom(7)
  for (let round = 0; round < 60; round++) {
    const damaged = Buffer.from(bytes)
    for (let i = 0; i < 300; i++) damaged[Math.floor(damaged.length * random())] = Math.floor(256 * random())
    try {
      readTs(damaged)
    } catch (error) {
      assert.ok(error instanceof UnsupportedStream, `${error}`)
    }
  }
})

test('other codecs are refused with a sentence', () => {
  for (const [options, reason] of [
    [
      ['-c:v', 'mpeg2video'],
      /^The encoder sends video with a codec that is not supported. Set it to H.264.$/,
    ],
    [['-c:a', 'mp2'], /^The encoder sends audio with a codec that is not supported. Set it to AAC.$/],
    [['-c:a', 'ac3'], /^The encoder sends audio with a codec that is not supported. Set it to AAC.$/],
  ] as const)
    assert.throws(
      () => readTs(makeTs(...options)),
      (error) => error instanceof UnsupportedStream && reason.test(error.message),
    )
})

test('streams with only video or only audio are published', () => {
  assert.deepEqual(payloadsOf(readTs(makeTs('-an'))), payloadsOf(whole, 'video'))
  assert.deepEqual(payloadsOf(readTs(makeTs('-vn'))), payloadsOf(whole, 'audio'))
})

test('HEVC is encoded as H.264, with the times of the source', async (t) => {
  const { publisher, messages } = recordTs()
  t.after(() => publisher.end())
  publisher.receive(makeTs('-c:v', 'libx265', '-x265-params', 'log-level=error:bframes=2:pools=1'))
  const video = () => messages.filter(({ kind }) => kind === 'video')
  await until(() => video().length > 3)
  const [config, first, second] = video()
  assert.deepEqual([...config!.payload.subarray(0, 6)], [0x17, 0, 0, 0, 0, 1])
  assert.deepEqual([first!.payload[0], second!.timestamp - first!.timestamp], [0x17, 40])
})
