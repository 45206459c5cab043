import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ladderOf } from './ladder.ts'

const thirty = { num: 30, den: 1 }
const sizes = (width: number, height: number) =>
  ladderOf({ width, height }, thirty).map((rung) => `${rung.quality} ${rung.width}x${rung.height}`)

test('a source gets every quality up to its own, the lowest first', () => {
  assert.deepEqual(sizes(1280, 720), ['240p 426x240', '360p 640x360', '480p 854x480', '720p 1280x720'])
  assert.deepEqual(
    sizes(3840, 2160).map((text) => text.split(' ')[0]),
    ['240p', '360p', '480p', '720p', '1080p', '2160p'],
  )
  assert.deepEqual(sizes(568, 320), ['240p 426x240'])
})

test('the shorter side decides, in portraits too', () => {
  assert.deepEqual(sizes(720, 1280).at(-1), '720p 720x1280')
  assert.deepEqual(sizes(1080, 1080).at(-1), '1080p 1080x1080')
})

test('a size between two qualities gets the lower one', () => {
  assert.deepEqual(sizes(1400, 800).at(-1), '720p 1260x720')
})

test('a source below 240p keeps its size, rounded to even numbers', () => {
  assert.deepEqual(sizes(160, 120), ['240p 160x120'])
  assert.deepEqual(sizes(161, 121), ['240p 160x120'])
  assert.deepEqual(sizes(1, 1), ['240p 2x2'])
})

test('odd sizes become even', () => {
  for (const [width, height] of [
    [853, 479],
    [1921, 1081],
    [641, 361],
  ] as const) {
    for (const rung of ladderOf({ width, height }, thirty))
      assert.ok(rung.width % 2 === 0 && rung.height % 2 === 0)
  }
})

test('no frame is larger than decoders accept', () => {
  for (const [width, height] of [
    [7680, 4320],
    [8192, 4096],
    [16384, 2160],
    [16000, 200],
    [16384, 16384],
  ] as const) {
    for (const rung of ladderOf({ width, height }, thirty)) {
      assert.ok(Math.ceil(rung.width / 16) * Math.ceil(rung.height / 16) <= 36_864)
      assert.ok(rung.width <= width && rung.height <= height)
    }
  }
})

test('higher qualities and higher rates have a higher maximum bitrate', () => {
  const rungs = ladderOf({ width: 3840, height: 2160 }, thirty).map(({ maxKbps }) => maxKbps)
  assert.deepEqual(
    rungs,
    rungs.toSorted((a, b) => a - b),
  )
  const [slow, fast] = [25, 60].map(
    (num) => ladderOf({ width: 1280, height: 720 }, { num, den: 1 }).at(-1)!.maxKbps,
  )
  assert.ok(fast! > slow!)
})
