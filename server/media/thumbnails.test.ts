import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findSegment, segmentOf } from './grid.ts'
import {
  brightnessArgs,
  brightnessOf,
  candidateFrames,
  frameAt,
  isGoodThumbnail,
  spriteSheetArgs,
  thumbnailArgs,
  thumbnailScore,
} from './thumbnails.ts'
import { timecodePattern } from './timecode.ts'

const pal = { rate: { num: 25, den: 1 }, frames: 250 }
const ntsc = { rate: { num: 30000, den: 1001 }, frames: 9000 }

describe('a timecode', () => {
  const forms: [string, number, number][] = [
    ['00:00:00', 0, 0],
    ['4', 100, 119],
    ['4.5', 112, 134],
    ['00:00:04.000', 100, 119],
    ['0:00:04.04', 101, 121],
    ['00:00:04:03', 103, 123],
    ['00:00:00:0', 0, 0],
    // The 1st, 2nd and 3rd frame in milliseconds, as players report them.
    ['00:00:00.033', 0, 1],
    ['00:00:00.067', 1, 2],
    ['00:00:00.100', 2, 3],
    // The last frame, and times after it.
    ['00:00:09.960', 249, 298],
    ['00:00:10.000', 0, 299],
    ['00:05:00.000', 0, 8991],
    ['00:15:22.05', 0, 0],
    ['9999999', 0, 0],
  ]
  for (const [text, ofPal, ofNtsc] of forms) {
    test(`${text} selects the frame that is shown at that time`, () => {
      assert.match(text, new RegExp(timecodePattern))
      assert.deepEqual([frameAt(pal, text), frameAt(ntsc, text)], [ofPal, ofNtsc])
    })
  }

  test('other forms are rejected', () => {
    for (const text of [
      '',
      'now',
      '-1',
      '1:2',
      '00:60:00',
      '00:00:60',
      '00:00:01.',
      '00:00:01:',
      '1e3',
      '٣',
      '1 ',
    ])
      assert.doesNotMatch(text, new RegExp(timecodePattern), text)
  })
})

test('a frame is found in its segment', () => {
  for (const frames of [1, 30, 50, 51, 74, 76, 149, 150, 151, 250, 260]) {
    const grid = { ...pal, frames }
    for (let frame = 0; frame < frames; frame++) {
      const { fromFrame, frames: length } = segmentOf(grid, findSegment(grid, frame))
      assert.ok(frame >= fromFrame && frame < fromFrame + length, `${frame} of ${frames}`)
    }
  }
})

test('candidates are unique frames of the video, with the first frame last', () => {
  assert.deepEqual(candidateFrames(100), [10, 30, 50, 70, 90, 0])
  assert.deepEqual(candidateFrames(2), [0, 1])
  assert.deepEqual(candidateFrames(1), [0])
})

describe('the rating of a frame', () => {
  const even = (level: number) => new Uint8Array(1024).fill(level)
  const marked = (level: number) => even(level).fill(250, 100, 140)
  const half = even(60).fill(180, 512)

  test('black, white and uniform colors are not good, even with a watermark', () => {
    for (const level of [0, 5, 128, 250, 255]) {
      assert.equal(isGoodThumbnail(brightnessOf(even(level))), false, `even ${level}`)
      assert.equal(isGoodThumbnail(brightnessOf(marked(level))), false, `marked ${level}`)
    }
    assert.equal(isGoodThumbnail(brightnessOf(half)), true)
  })

  test('among bad frames, structure scores highest, then colors other than black and white', () => {
    const score = (pixels: Uint8Array) => thumbnailScore(brightnessOf(pixels))
    assert.ok(score(even(100)) > score(even(20)))
    assert.ok(score(even(20)) > score(even(0)))
    assert.ok(score(even(200)) > score(even(255)))
    assert.ok(score(even(0).fill(60, 512)) > score(even(110)))
  })
})

const after = (args: string[], name: string) => args[args.indexOf(name) + 1]

test('frames are selected by number from local files only', () => {
  const frame = thumbnailArgs({ input: 'in', frame: 7, size: { width: 640, height: 360 }, output: 'out' })
  assert.match(after(frame, '-vf')!, /^select=eq\(n\\,7\),scale=640:360:/)
  assert.equal(after(frame, '-protocol_whitelist'), 'file')
  const looks = brightnessArgs({ input: 'in', frame: 7, output: 'out' })
  assert.match(after(looks, '-vf')!, /^select=eq\(n\\,7\),scale=32:32:.*format=gray$/)
  const sprites = { tiles: 3, columns: 3, rows: 1, width: 480, height: 270 }
  const sheet = spriteSheetArgs({ input: 'in', frames: [12, 37, 62], sprites, output: '%d.jpg' })
  const selection = 'if(lt(n,37),eq(n,12),if(lt(n,62),eq(n,37),eq(n,62)))'.replaceAll(',', '\\,')
  assert.ok(after(sheet, '-vf')!.startsWith(`select=${selection},scale=480:270:`))
  assert.ok(after(sheet, '-vf')!.endsWith(',tile=3x1'))
  assert.equal(after(sheet, '-protocol_whitelist'), 'file')
})
