import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  alignGrid,
  audioCut,
  audioSegmentOf,
  boundRate,
  countSegments,
  framesIn,
  type Grid,
  listChunks,
  makeGrid,
  secondsOf,
  segmentFrames,
  segmentOf,
  segmentsOf,
  timescaleOf,
  videoCut,
} from './grid.ts'

const rates = [
  [24000, 1001],
  [24, 1],
  [25, 1],
  [30000, 1001],
  [30, 1],
  [50, 1],
  [60000, 1001],
  [60, 1],
  [1, 1],
  [25, 2],
  [18, 1],
  [2997, 100],
  [359, 12],
] as const

const tenHours = 36_000
const lengths = [
  0.001,
  0.04,
  0.5,
  1,
  1.99,
  2,
  2.01,
  5.9,
  6,
  6.01,
  14.04,
  30,
  60,
  61.7,
  600,
  3_599.9,
  tenHours,
]

function* grids(): Generator<Grid> {
  for (const [num, den] of rates) {
    for (const seconds of lengths) yield makeGrid({ num, den }, seconds)
    // Errors are most likely one frame above or below a whole number of segments.
    const frames = segmentFrames({ num, den })
    for (const count of [1, 2, 3, 7])
      for (const more of [-1, 0, 1]) yield { rate: { num, den }, frames: Math.max(1, count * frames + more) }
  }
}

test('segments have no gaps or overlaps and end with the last frame', () => {
  for (const grid of grids()) {
    let next = 0
    for (let i = 0; i < countSegments(grid); i++) {
      const segment = segmentOf(grid, i)
      assert.equal(segment.fromFrame, next)
      assert.ok(segment.frames > 0, `segment ${i} of ${JSON.stringify(grid)} is empty`)
      next += segment.frames
    }
    assert.equal(next, grid.frames)
    assert.equal(segmentOf(grid, countSegments(grid)).frames, 0)
  }
})

test('the grid is as long as the source, within half a frame', () => {
  for (const [num, den] of rates) {
    for (const seconds of lengths) {
      const grid = makeGrid({ num, den }, seconds)
      const off = Math.abs(secondsOf(grid, grid.frames) - seconds)
      assert.ok(
        off <= den / num / 2 + 1e-9 || grid.frames === 1,
        `${seconds} s at ${num}/${den} is off by ${off}`,
      )
    }
  }
})

test('chunks consist of entire segments, start with the first segment alone, and cover all segments', () => {
  for (const grid of grids()) {
    for (const cut of [videoCut, audioCut]) {
      const chunks = listChunks(grid, cut)
      assert.deepEqual(chunks[0], { index: 0, firstSegment: 0, segments: 1 })
      const listed = chunks.flatMap((chunk) => segmentsOf(grid, chunk).map(({ index }) => index))
      assert.deepEqual(
        listed,
        Array.from({ length: countSegments(grid) }, (_, i) => i),
      )
      assert.ok(chunks.every(({ segments }) => segments >= 1 && segments <= cut.maxSegments))
      assert.ok(chunks.every(({ index }, i) => index === i))
    }
  }
})

test('key frames at a constant distance match the segment starts of a chunk', () => {
  for (const grid of grids()) {
    for (const chunk of listChunks(grid, videoCut)) {
      const segments = segmentsOf(grid, chunk)
      // ffmpeg adds key frames at a constant distance within the chunk. The segments must begin at these frames.
      for (const [i, { fromFrame }] of segments.entries())
        assert.equal(fromFrame - segments[0]!.fromFrame, i * segmentFrames(grid.rate))
    }
  }
})

test('a ten hour video has about 1,800 chunks, a short video one chunk per segment', () => {
  const long = listChunks(makeGrid({ num: 30, den: 1 }, tenHours), videoCut)
  const fewest = 1 + Math.ceil(Math.ceil((tenHours - 2) / 4) / 5)
  assert.ok(long.length >= fewest && long.length < fewest + 20, String(long.length))
  assert.equal(listChunks(makeGrid({ num: 30, den: 1 }, 14), videoCut).length, 4)
})

test('chunks are shorter towards the end', () => {
  const lengths = listChunks(makeGrid({ num: 30, den: 1 }, 250), videoCut).map(({ segments }) => segments)
  assert.deepEqual(
    lengths.slice(1),
    [...lengths.slice(1)].sort((a, b) => b - a),
  )
  assert.equal(lengths[1], 5)
  assert.equal(lengths.at(-1), 1)
})

test('a frame has a whole number of ticks, and microseconds can represent the start of any chunk', () => {
  for (const [num, den] of rates) {
    const { timescale, perFrame } = timescaleOf({ num, den })
    assert.ok(Number.isInteger(perFrame) && timescale >= 10_000 && timescale < 500_000)
    assert.equal(perFrame * num, timescale * den)
    // ffmpeg gets the offset with six decimals, which must round to the same tick.
    for (const frame of [1, 7, 1_001, 123_457, framesIn({ num, den }, tenHours)]) {
      const told = Number(((frame * den) / num).toFixed(6))
      assert.equal(Math.round(told * timescale), frame * perFrame)
    }
  }
})

test('audio segments join and stay within one audio frame of the video', () => {
  for (const grid of grids()) {
    let next = 0
    for (let i = 0; i < countSegments(grid); i++) {
      const sound = audioSegmentOf(grid, i)
      assert.equal(sound.fromFrame, next)
      assert.ok(sound.frames > 0, `no sound in segment ${i} of ${JSON.stringify(grid)}`)
      next += sound.frames
      const starts = [secondsOf(grid, segmentOf(grid, i).fromFrame), (sound.fromFrame * 1024) / 48_000]
      assert.ok(Math.abs(starts[0]! - starts[1]!) <= 1024 / 48_000)
    }
    assert.ok(Math.abs(secondsOf(grid, grid.frames) - (next * 1024) / 48_000) <= 1024 / 48_000)
  }
})

test('a grid begins so that the frames of the video are on its points', () => {
  const film = { num: 24_000, den: 1001 }
  const frame = 1001 / 24_000
  for (const [wanted, pictureStart] of [
    [0, 0],
    [0, 0.021],
    [0, 0.04],
    [0, 1.5],
    [0, -0.01],
    [12.34, 0.021],
  ] as const) {
    const start = alignGrid(film, wanted, pictureStart)
    const frames = (start - pictureStart) / frame
    assert.ok(Math.abs(frames - Math.round(frames)) < 1e-9)
    assert.ok(start >= 0 && Math.abs(start - wanted) <= frame, `${start} for ${wanted}`)
  }
  assert.equal(alignGrid(film, 0, 0), 0)
})

test('few frames are not repeated too often', () => {
  const rate = { num: 25, den: 1 }
  assert.deepEqual(boundRate(rate, 3, { frames: 90 }), rate)
  assert.deepEqual(boundRate(rate, 60, { frames: 1 }), rate)
  assert.deepEqual(boundRate(rate, 3_000, { frames: 50 }), { num: 1, den: 1 })
  assert.deepEqual(boundRate(rate, 3_600, { frames: 150 }), { num: 2, den: 1 })
  // An hour of audio with a single frame.
  assert.deepEqual(boundRate(rate, 3_600, { frames: 1 }), { num: 1, den: 1 })
  assert.deepEqual(boundRate(rate, 0, { frames: 0 }), rate)
})
