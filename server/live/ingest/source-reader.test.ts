import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { FlvStream, type FlvTag, flvTagType } from '../media/flv-stream.ts'
import { type Packaged, Packager, type Part } from '../output/packager.ts'
import { type SourceEvent, SourceReader } from './source-reader.ts'

const mediaTypes: number[] = Object.values(flvTagType)
let configs: FlvTag[]
before(() => {
  const inputs = '-f lavfi -i testsrc2=s=160x120:r=25:d=0.2 -f lavfi -i sine=d=0.2:r=44100'
  const args = `-v error ${inputs} -c:v libx264 -preset ultrafast -c:a aac -f flv pipe:1`
  const tags = new FlvStream().read(execFileSync('ffmpeg', args.split(' ')))
  configs = tags.filter(({ type, payload }) => mediaTypes.includes(type) && payload[1] === 0)
})

/** A stream with both tracks. Returns what sends messages, and the parts so far. */
function start() {
  const parts: Part[] = []
  let packager: Packager | undefined
  const source = new SourceReader(0)
  const collect = (packaged: readonly Packaged[] = []) => {
    for (const each of packaged) if (each.kind === 'part') parts.push(each.part)
  }
  const handle = (events: SourceEvent[]) => {
    for (const event of events) {
      if (event.kind !== 'tracks') {
        collect(packager![event.kind](event.sample, event.atMs))
        continue
      }
      collect(packager?.end())
      const startsSegment = (atMs: number, startMs: number) => atMs - startMs >= 1_500
      packager = new Packager({ tracks: event.tracks, partMs: 500, startsSegment })
    }
  }
  const reader = {
    video: (timestamp: number, payload: Buffer) => handle(source.video(timestamp, payload)),
    audio: (timestamp: number, payload: Buffer) => handle(source.audio(timestamp, payload)),
    get missing() {
      return source.missing
    },
  }
  for (const { type, timestamp, payload } of configs)
    if (type === flvTagType.video) reader.video(timestamp, payload)
    else reader.audio(timestamp, payload)
  return { reader, parts, end: () => collect(packager?.end()) }
}

/** One NAL unit. */
function frame(isKeyFrame: boolean, offset = 0, bytes = 4): Buffer {
  const payload = Buffer.alloc(5 + 4 + bytes)
  payload.set([isKeyFrame ? 0x17 : 0x27, 1])
  payload.writeIntBE(offset, 2, 3)
  payload.writeUInt32BE(bytes, 5)
  return payload
}
const sound = (bytes = 1) => Buffer.concat([Buffer.from([0xaf, 1]), Buffer.alloc(bytes)])
const lengthOf = (parts: Part[]) => parts.reduce((sum, { durationMs }) => sum + durationMs, 0)

test('whatever the clocks of the tracks do, parts follow each other', () => {
  const clock = fc.oneof(fc.constantFrom(0, 1, 23, 33, 40, -40, 2_000, -2_000, 10_000), fc.integer())
  const message = fc.record({
    isVideo: fc.boolean(),
    isKeyFrame: fc.boolean(),
    offset: fc.integer({ min: -(2 ** 23), max: 2 ** 23 - 1 }),
    step: clock,
  })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 300 }), (messages) => {
      const { reader, parts, end } = start()
      let now = 1_000
      for (const { isVideo, isKeyFrame, offset, step } of messages) {
        now = (now + step) >>> 0
        if (isVideo) reader.video(now, frame(isKeyFrame, offset))
        else reader.audio(now, sound())
      }
      end()
      let last = 0
      for (const { startMs, durationMs } of parts) {
        assert.ok(startMs >= last && durationMs > 0 && Number.isInteger(startMs), `${startMs} after ${last}`)
        last = startMs + durationMs
      }
    }),
    { numRuns: 200 },
  )
})

test('a frame at the time at which audio ended the part before follows it', () => {
  const { reader, parts, end } = start()
  reader.video(1_000, frame(true))
  for (const ms of [3_000, 5_000]) reader.audio(ms, sound())
  reader.video(5_000, frame(true))
  end()
  assert.deepEqual(
    parts.map(({ startMs, durationMs }) => [startMs, durationMs]),
    [
      [0, 4_000],
      [4_000, 1],
      [4_001, 40],
    ],
  )
})

test('a clock that stands still does not stop the stream', () => {
  const { reader, parts, end } = start()
  for (let i = 0; i < 300; i++) {
    reader.video(5_000, frame(i % 50 === 0))
    reader.audio(5_000, sound())
  }
  end()
  // 300 frames at the rate of a usual encoder.
  assert.ok(lengthOf(parts) > 9_000 && lengthOf(parts) < 11_000, `${lengthOf(parts)} ms`)
})

test('audio goes on without the video, and no part takes more memory than it may', () => {
  const { reader, parts } = start()
  reader.video(0, frame(true))
  for (let ms = 0; ms < 60_000; ms += 23) reader.audio(ms, sound())
  assert.ok(parts.length > 100, `${parts.length} parts`)
  const before = parts.length
  for (let i = 0; i < 100; i++) reader.video(60_000, frame(false, 0, 1024 * 1024))
  for (let i = 0; i < 3_000; i++) reader.audio(60_000, sound(16_000))
  assert.ok(parts.length > before + 12, `${parts.length} parts`)
  assert.ok(Math.max(...parts.map(({ data }) => data.length)) < 10 * 1024 * 1024)
})

test('a stream without a key frame is not kept, and says what is missing', () => {
  const { reader, parts, end } = start()
  for (let ms = 0; ms < 60_000; ms += 40) reader.video(ms, frame(false))
  assert.equal(reader.missing, 'The encoder has not sent a key frame yet.')
  reader.video(60_000, frame(true))
  reader.video(60_040, frame(false))
  reader.audio(60_040, sound())
  assert.equal(reader.missing, undefined)
  end()
  assert.equal(lengthOf(parts), 80)
})

test('a frame with far more NAL units than any encoder makes is left out', () => {
  const unit = Buffer.from([0, 0, 0, 1, 0x65])
  const bytesWith = (units: number) => {
    const { reader, parts, end } = start()
    reader.audio(0, sound())
    reader.video(0, frame(true))
    reader.video(400, Buffer.concat([frame(true).subarray(0, 5), Buffer.alloc(units * unit.length, unit)]))
    end()
    return parts.reduce((sum, { data }) => sum + data.length, 0)
  }
  assert.ok(bytesWith(10_000) > 50_000)
  assert.ok(bytesWith(10_001) < 1_000)
})
