import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fit, imageFormatOf, orientationOf, thumbnailArgs, uprightSize, watermarkArgs } from './images.ts'

test('sizes keep their aspect ratio and are never enlarged', () => {
  const most = { width: 1280, height: 1280 }
  assert.deepEqual(fit({ width: 1920, height: 1080 }, most), { width: 1280, height: 720 })
  assert.deepEqual(fit({ width: 1080, height: 1920 }, most), { width: 720, height: 1280 })
  assert.deepEqual(fit({ width: 320, height: 240 }, most), { width: 320, height: 240 })
  assert.deepEqual(fit({ width: 2, height: 9000 }, most), { width: 1, height: 1280 })
})

describe('an uploaded image', () => {
  test('has a format that is detected from its first bytes', () => {
    assert.equal(imageFormatOf(Buffer.from([0xff, 0xd8, 0xff, 0xe0])), 'jpeg')
    assert.equal(imageFormatOf(Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1')), 'png')
    assert.equal(imageFormatOf(Buffer.from('RIFF....WEBPVP8 ')), 'webp')
    for (const other of ['', '\xff\xd8', 'GIF89a', 'RIFF....WAVE', '<svg/>', '#EXTM3U', '\x89PNG\n'])
      assert.equal(imageFormatOf(Buffer.from(other, 'latin1')), undefined, other)
  })

  /** The start of a JPEG with Exif data. */
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

  test('has an Exif orientation', () => {
    assert.equal(orientationOf(withExif(6, true)), 6)
    assert.equal(orientationOf(withExif(3, false)), 3)
  })

  test('is upright if its orientation is missing or invalid', () => {
    const whole = withExif(6, true)
    for (let end = 0; end < whole.length - 6; end++) assert.equal(orientationOf(whole.subarray(0, end)), 1)
    assert.equal(orientationOf(Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, 0])), 1)
    assert.equal(orientationOf(Buffer.alloc(100, 0xff)), 1)
  })
})

describe('arguments for ffmpeg', () => {
  const after = (args: string[], name: string) => args[args.indexOf(name) + 1]

  test('an uploaded image is read with one format, one decoder and limits, and must be complete', () => {
    const args = thumbnailArgs({ path: 'in', format: 'jpeg', orientation: 6 }, 'out')
    assert.equal(after(args, '-f'), 'jpeg_pipe')
    assert.equal(after(args, '-format_whitelist'), 'jpeg_pipe')
    assert.equal(after(args, '-protocol_whitelist'), 'file')
    assert.equal(after(args, '-c:v'), 'mjpeg')
    assert.equal(after(args, '-max_pixels'), '37748736')
    assert.equal(after(args, '-err_detect'), 'explode')
    assert.ok(args.includes('-xerror') && args.includes('-noautorotate'))
    assert.match(after(args, '-vf')!, /^scale=.*,transpose=clock,scale=.*,setsar=1$/)
    assert.ok(args.indexOf('-max_pixels') < args.indexOf('-i'))
    const png = thumbnailArgs({ path: 'in', format: 'png', orientation: 1 }, 'out')
    assert.match(after(png, '-vf')!, /premultiply/)
  })

  test('a watermark keeps its pixels unless it is larger than 4K', () => {
    const image = { path: 'in', format: 'png', orientation: 1 } as const
    const small = watermarkArgs(image, { width: 300, height: 100 }, 'out')
    assert.equal(after(small, '-vf'), 'format=rgba,setsar=1')
    assert.deepEqual(small.slice(-5), ['-f', 'image2', '-update', '1', 'out'])
    const turned = watermarkArgs(
      { ...image, format: 'jpeg', orientation: 8 },
      { width: 7680, height: 960 },
      'out',
    )
    assert.equal(
      after(turned, '-vf'),
      'format=gbrap,premultiply=inplace=1,scale=3840:480,unpremultiply=inplace=1,transpose=cclock,format=rgba,setsar=1',
    )
    assert.deepEqual(uprightSize({ width: 7680, height: 960 }, 8), { width: 960, height: 7680 })
    assert.deepEqual(uprightSize({ width: 7680, height: 960 }, 3), { width: 7680, height: 960 })
  })
})
