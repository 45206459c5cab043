import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeAudio, readStereoLc } from './copied-audio.ts'
import { copyVideoSegment, delaySegment, findStartSamples } from './copied-segments.ts'
import { chooseStarts, listClosedKeyFrames, placeFrames, readKeyFrame } from './copied-video.ts'
import { audioSegmentOf, countSegments, findSegment, longestSeconds, segmentOf } from './grid.ts'
import type { Mp4Track } from './mp4-index.ts'

const rate = { num: 25, den: 1 }

/** Key frames at these seconds. */
const starts = (seconds: number[], length: number) =>
  chooseStarts(
    seconds.map((each) => each * 25),
    { rate, frames: length * 25 },
  )?.map((frame) => frame / 25)

test('segments begin at the first key frame after 2 s, then after 4 s, and last at most 6.5 s', () => {
  const every = (seconds: number, length: number) =>
    Array.from({ length: Math.ceil(length / seconds) }, (_, i) => i * seconds)
  assert.deepEqual(starts(every(2, 20), 20), [0, 2, 6, 10, 14, 18])
  assert.deepEqual(starts(every(1, 11), 11), [0, 2, 6, 10])
  assert.deepEqual(starts(every(5, 20), 20), [0, 5, 10, 15])
  assert.deepEqual(starts(every(3, 20), 20), [0, 3, 9, 15])
  // The next key frame would come after 6.5 s.
  assert.deepEqual(starts([0, 3, 9.4, 13, 20, 23], 26), undefined)
  assert.deepEqual(starts([0, 3, 6, 9.6], 12), [0, 3, 6])
  // A short rest belongs to the last segment.
  assert.deepEqual(starts([0, 2, 6, 10], 10.5), [0, 2, 6])
  assert.deepEqual(starts([0], 0.5), [0])
  assert.equal(starts([0, 7], 9), undefined)
  assert.equal(starts([0], 10), undefined)
})

test('segments of a list of starts cover the video, for video and audio', () => {
  const grid = { rate, frames: 500, starts: [0, 60, 180, 300, 410], audioRate: 44_100 }
  assert.equal(countSegments(grid), 5)
  assert.deepEqual(segmentOf(grid, 4), { index: 4, fromFrame: 410, frames: 90 })
  assert.deepEqual(segmentOf(grid, 5), { index: 5, fromFrame: 500, frames: 0 })
  for (let frame = 0; frame < 500; frame++) {
    const { fromFrame, frames } = segmentOf(grid, findSegment(grid, frame))
    assert.ok(fromFrame <= frame && frame < fromFrame + frames)
  }
  assert.equal(longestSeconds(grid), 4.8)
  assert.deepEqual(audioSegmentOf(grid, 1), { fromFrame: 103, frames: 207 })
  assert.deepEqual(audioSegmentOf(grid, 5), { fromFrame: 861, frames: 0 })
})

/** A track with these presentation times in frames, in decoding order. */
function trackOf(times: number[], syncSamples: number[] = [0]): Mp4Track {
  const count = times.length
  const isSync = new Uint8Array(count)
  for (const sample of syncSamples) isSync[sample] = 1
  const sizes = new Uint32Array(count).fill(10)
  const offsets = Float64Array.from(times, (_, i) => 100 * i)
  return {
    handler: 'vide',
    timescale: 25_000,
    isTransformed: false,
    entry: { type: 'avc1', body: Buffer.alloc(0) },
    samples: {
      count,
      offsets,
      sizes,
      times: Float64Array.from(times, (time) => time * 1_000),
      isSync,
      ticks: count * 1_000,
      ticksPerSample: 1_000,
    },
    shown: { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY },
  }
}

const place = async (times: number[], track: Partial<Mp4Track> = {}) => {
  const placed = await placeFrames({ ...trackOf(times), ...track }, rate)
  return placed && [...placed.indexes]
}

test('each frame has its own place on the grid, with some jitter and gaps', async () => {
  assert.deepEqual(await place([0, 3, 1, 2]), [0, 3, 1, 2])
  assert.deepEqual(await place([7, 10, 8, 9]), [0, 3, 1, 2])
  assert.deepEqual(await place([0, 1.2, 1.9, 3.3]), [0, 1, 2, 3])
  assert.deepEqual(await place([0, 1, 5, 6]), [0, 1, 5, 6])
  assert.equal(await place([0, 1.4, 2]), undefined)
  assert.equal(await place([0, 1, 1.1, 2]), undefined)
  assert.equal(await place([1, 0, 2]), undefined)
  assert.equal(await place([0, 1, 2, 40]), undefined)
  assert.equal(await place([0, 1, 1e9]), undefined)
  assert.equal(await place([0, 1, 2], { shown: { from: 500, to: 9_000 } }), undefined)
  assert.equal(await place([0, 1, 2], { shown: { from: 0, to: 2_000 } }), undefined)
})

test('a key frame begins a segment only if no frame is shown across it', async () => {
  const closed = async (times: number[], syncSamples: number[]) => {
    const track = trackOf(times, syncSamples)
    return listClosedKeyFrames(track.samples, (await placeFrames(track, rate))!)
  }
  assert.deepEqual(await closed([0, 2, 1, 3, 5, 4], [0, 3]), [0, 3])
  // An open group of pictures: frame 3 follows the key frame 4 in the file.
  assert.deepEqual(await closed([0, 2, 1, 4, 3, 5], [0, 3]), [0])
  assert.deepEqual(await closed([0, 3, 1, 2, 4], [0, 2]), [0])
})

test('decoding times are sorted presentation times, and a delay makes all offsets positive', async () => {
  const track = trackOf([0, 3, 1, 2, 6, 4, 5])
  const frames = (await placeFrames(track, rate))!
  assert.equal(frames.delay, 1)
  const grid = { rate, frames: 8, starts: [0] }
  assert.deepEqual([...findStartSamples(frames, [0])!], [0])
  const { head, pieces, bytes } = copyVideoSegment(track.samples, frames, {
    grid,
    segment: segmentOf(grid, 0),
    range: { from: 0, to: 7 },
  })
  assert.deepEqual([pieces.length, bytes], [7, head.length + 70])
  const tableAt = head.indexOf('trun') + 16
  const column = (buffer: Buffer, from: number) =>
    Array.from({ length: 7 }, (_, i) => buffer.readInt32BE(tableAt + 16 * i + from) / 400)
  assert.deepEqual(column(head, 0), [1, 1, 1, 1, 1, 1, 2])
  assert.deepEqual(column(head, 12), [0, 2, -1, -1, 2, -1, -1])
  assert.deepEqual(column(delaySegment(head, frames.delay, grid), 12), [1, 3, 0, 0, 3, 0, 0])
})

test('a sample is a key frame if its first picture is an IDR picture with known parameter sets', () => {
  const [sps, pps] = [Buffer.from([0x67, 1, 2]), Buffer.from([0x68, 3])]
  const unit = (...bytes: number[]) => Buffer.from([0, 0, 0, bytes.length, ...bytes])
  const kind = (...units: Buffer[]) =>
    readKeyFrame(Buffer.concat(units), { lengthBytes: 4, sps: [sps], pps: [pps] })
  const [idr, slice, sei] = [unit(0x65, 1), unit(0x41, 1), unit(6, 1, 1)]
  assert.equal(kind(idr), 'idr')
  assert.equal(kind(sei, unit(...sps), unit(...pps), idr), 'idr')
  assert.equal(kind(sei, slice), 'other')
  assert.equal(kind(unit(0x67, 9), idr), 'changed')
  assert.equal(kind(unit(...sps), unit(0x68, 4), idr), 'changed')
  assert.equal(kind(sei), undefined)
  assert.equal(kind(Buffer.from([0, 0, 0, 0, 0])), 'other')
  assert.equal(kind(Buffer.from([0, 0, 0, 200, 0x67, 1])), undefined)
  assert.equal(kind(), undefined)
})

test('stereo AAC-LC without band replication is copied', () => {
  assert.equal(readStereoLc(Buffer.from('1190', 'hex')), 48_000)
  assert.equal(readStereoLc(Buffer.from('1210', 'hex')), 44_100)
  assert.equal(readStereoLc(Buffer.from('119056e500', 'hex')), 48_000)
  // With band replication, 32 kHz, mono, frames of 960 samples, HE-AAC, nothing.
  for (const other of ['119056e580', '1290', '1188', '1194', '2b11', '11', ''])
    assert.equal(readStereoLc(Buffer.from(other, 'hex')), undefined, other)
})

test('audio is moved by less than half a frame, and little may be missing', () => {
  const audio = { sampleRate: 48_000, config: Buffer.alloc(0), startSeconds: -1024 / 48_000, count: 471 }
  assert.equal(placeAudio(audio, { fromSeconds: 0, frames: 469 }), -1)
  assert.equal(placeAudio({ ...audio, startSeconds: 0.03 }, { fromSeconds: 0, frames: 469 }), 1)
  assert.equal(placeAudio({ ...audio, startSeconds: 0.2 }, { fromSeconds: 0, frames: 469 }), undefined)
  assert.equal(placeAudio(audio, { fromSeconds: 0, frames: 481 }), -1)
  assert.equal(placeAudio(audio, { fromSeconds: 0, frames: 490 }), undefined)
})
