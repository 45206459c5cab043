import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  alignGrid,
  audioSegmentOf,
  boundRate,
  countSegments,
  framesIn,
  type Grid,
  makeGrid,
  secondsOf,
  segmentFrames,
  segmentOf,
  timescaleOf,
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
