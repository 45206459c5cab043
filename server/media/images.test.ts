import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findSegment, segmentOf } from './grid.ts'
import { fit, imageArgs, imageFormatOf, orientationOf } from './images.ts'
import {
  brightnessArgs,
  brightnessOf,
  candidateFrames,
  frameAt,
  isGoodThumbnail,
  spriteSheetArgs,
  thumbnailArgs,
  thumbnailScore,
  timecodePattern,
} from './thumbnails.ts'

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
    // As players tell it, in milliseconds: the 1st, 2nd and 3rd frame.
    ['00:00:00.033', 0, 1],
    ['00:00:00.067', 1, 2],
    ['00:00:00.100', 2, 3],
    // The last one, and what comes after it.
    ['00:00:09.960', 249, 298],
    ['00:00:10.000', 0, 299],
    ['00:05:00.000', 0, 8991],
    ['00:15:22.05', 0, 0],
    ['9999999', 0, 0],
  ]
  for (const [text, ofPal, ofNtsc] of forms) {
    test(`${text} is the frame that is shown then`, () => {
      assert.match(text, new RegExp(timecodePattern))
      assert.deepEqual([frameAt(pal, text), frameAt(ntsc, text)], [ofPal, ofNtsc])
    })
  }

  test('other forms are refused', () => {
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

test('candidates lie in the video, each once, its beginning last', () => {
  assert.deepEqual(candidateFrames(100), [10, 30, 50, 70, 90, 0])
  assert.deepEqual(candidateFrames(2), [0, 1])
  assert.deepEqual(candidateFrames(1), [0])
})

describe('how a frame looks', () => {
  const even = (level: number) => new Uint8Array(1024).fill(level)
  const marked = (level: number) => even(level).fill(250, 100, 140)
  const half = even(60).fill(180, 512)

  test('black, white and even colours are not good, also with a mark on them', () => {
    for (const level of [0, 5, 128, 250, 255]) {
      assert.equal(isGoodThumbnail(brightnessOf(even(level))), false, `even ${level}`)
      assert.equal(isGoodThumbnail(brightnessOf(marked(level))), false, `marked ${level}`)
    }
    assert.equal(isGoodThumbnail(brightnessOf(half)), true)
  })

  test('the best of what is not good is the least even, then the least black or white', () => {
    const score = (pixels: Uint8Array) => thumbnailScore(brightnessOf(pixels))
    assert.ok(score(even(100)) > score(even(20)))
    assert.ok(score(even(20)) > score(even(0)))
    assert.ok(score(even(200)) > score(even(255)))
    assert.ok(score(even(0).fill(60, 512)) > score(even(110)))
  })
})

test('sizes keep their shape and are never made larger', () => {
  const most = { width: 1280, height: 1280 }
  assert.deepEqual(fit({ width: 1920, height: 1080 }, most), { width: 1280, height: 720 })
  assert.deepEqual(fit({ width: 1080, height: 1920 }, most), { width: 720, height: 1280 })
  assert.deepEqual(fit({ width: 320, height: 240 }, most), { width: 320, height: 240 })
  assert.deepEqual(fit({ width: 2, height: 9000 }, most), { width: 1, height: 1280 })
})

describe('a picture', () => {
  test('is known by its first bytes', () => {
    assert.equal(imageFormatOf(Buffer.from([0xff, 0xd8, 0xff, 0xe0])), 'jpeg')
    assert.equal(imageFormatOf(Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1')), 'png')
    assert.equal(imageFormatOf(Buffer.from('RIFF....WEBPVP8 ')), 'webp')
    for (const other of ['', '\xff\xd8', 'GIF89a', 'RIFF....WAVE', '<svg/>', '#EXTM3U', '\x89PNG\n'])
      assert.equal(imageFormatOf(Buffer.from(other, 'latin1')), undefined, other)
  })

  /** The start of a JPEG with Exif in it. */
  const withExif = (orientation: number, isLittle: boolean) => {
    const tiff = Buffer.alloc(26)
    tiff.write(isLittle ? 'II' : 'MM')
    const short = (value: number, at: number) =>
      isLittle ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at)
    short(42, 2)
    if (isLittle) tiff.writeUInt32LE(8, 4)
    else tiff.writeUInt32BE(8, 4)
    short(1, 8)
    short(0x0112, 10)
    short(3, 12)
    short(orientation, 18)
    const jfif = Buffer.from([0xff, 0xe0, 0, 4, 0, 0])
    const length = Buffer.from([0xff, 0xe1, 0, 2 + 6 + tiff.length])
    return Buffer.concat([Buffer.from([0xff, 0xd8]), jfif, length, Buffer.from('Exif\0\0'), tiff])
  }

  test('of a camera tells how it is held', () => {
    assert.equal(orientationOf(withExif(6, true)), 6)
    assert.equal(orientationOf(withExif(3, false)), 3)
  })

  test('that tells nothing, or lies, is taken as it is', () => {
    const whole = withExif(6, true)
    for (let end = 0; end < whole.length - 6; end++) assert.equal(orientationOf(whole.subarray(0, end)), 1)
    assert.equal(orientationOf(Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, 0])), 1)
    assert.equal(orientationOf(Buffer.alloc(100, 0xff)), 1)
  })
})

describe('what ffmpeg is told', () => {
  const after = (args: string[], name: string) => args[args.indexOf(name) + 1]

  test('of a picture of strangers: one format, one decoder, within limits, and no half pictures', () => {
    const args = imageArgs({ input: 'in', format: 'jpeg', orientation: 6, output: 'out' })
    assert.equal(after(args, '-f'), 'jpeg_pipe')
    assert.equal(after(args, '-format_whitelist'), 'jpeg_pipe')
    assert.equal(after(args, '-protocol_whitelist'), 'file')
    assert.equal(after(args, '-c:v'), 'mjpeg')
    assert.equal(after(args, '-max_pixels'), '37748736')
    assert.equal(after(args, '-err_detect'), 'explode')
    assert.ok(args.includes('-xerror') && args.includes('-noautorotate'))
    assert.match(after(args, '-vf')!, /^scale=.*,transpose=clock,scale=.*,setsar=1$/)
    assert.ok(args.indexOf('-max_pixels') < args.indexOf('-i'))
    const png = imageArgs({ input: 'in', format: 'png', orientation: 1, output: 'out' })
    assert.match(after(png, '-vf')!, /premultiply/)
  })

  test('of frames: their number, and nothing but what the service has encoded', () => {
    const frame = thumbnailArgs({ input: 'in', frame: 7, size: { width: 640, height: 360 }, output: 'out' })
    assert.match(after(frame, '-vf')!, /^select=eq\(n\\,7\),scale=640:360:/)
    assert.equal(after(frame, '-protocol_whitelist'), 'file')
    const looks = brightnessArgs({ input: 'in', frame: 7, output: 'out' })
    assert.match(after(looks, '-vf')!, /^select=eq\(n\\,7\),scale=32:32:.*format=gray$/)
    const tile = { width: 160, height: 90 }
    const sheet = spriteSheetArgs({ input: 'in', tile, columns: 10, rows: 4, output: '%d.jpg' })
    assert.equal(after(sheet, '-skip_frame'), 'nokey')
    assert.ok(sheet.indexOf('-skip_frame') < sheet.indexOf('-i'))
    assert.match(after(sheet, '-vf')!, /^scale=160:90:.*,tile=10x4$/)
  })
})
