import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pixelsOf, placeWatermark, type WatermarkPosition } from './watermark.ts'

const image = { width: 200, height: 100 }
const full = { width: 1920, height: 1080 }
const px = (value: number) => ({ value, unit: 'px' }) as const
const percent = (value: number) => ({ value, unit: '%' }) as const

/** The pixels of a 200 x 100 image in a frame. */
function place(position: WatermarkPosition, frame = full) {
  const { x, y, width, height } = pixelsOf(placeWatermark(image, position, frame), frame)
  return [x, y, width, height]
}

test('distances are counted from each edge, in pixels or in percent', () => {
  assert.deepEqual(place({ top: px(10), left: px(20) }), [20, 10, 200, 100])
  assert.deepEqual(place({ bottom: px(10), right: px(20) }), [1700, 970, 200, 100])
  assert.deepEqual(place({ top: percent(50), left: percent(25) }), [480, 540, 200, 100])
  assert.deepEqual(place({ bottom: percent(10), right: percent(10) }), [1528, 872, 200, 100])
  assert.deepEqual(place({}), [0, 0, 200, 100])
  assert.deepEqual(place({ top: px(10), bottom: px(10), left: px(20), right: px(20) }), [20, 10, 200, 100])
})

test('the image keeps its aspect ratio unless width and height are given', () => {
  assert.deepEqual(place({ width: px(400) }), [0, 0, 400, 200])
  assert.deepEqual(place({ height: px(50) }), [0, 0, 100, 50])
  assert.deepEqual(place({ width: percent(50) }), [0, 0, 960, 480])
  assert.deepEqual(place({ height: percent(50) }), [0, 0, 1080, 540])
  assert.deepEqual(place({ width: px(300), height: percent(10) }), [0, 0, 300, 108])
})

test('a watermark that is too large for the frame is scaled down to it', () => {
  assert.deepEqual(place({}, { width: 100, height: 400 }), [0, 0, 100, 50])
  assert.deepEqual(place({ width: px(99_999) }), [0, 0, 1920, 960])
  assert.deepEqual(place({ height: px(99_999), right: px(0) }), [0, 0, 1920, 960])
  assert.deepEqual(place({ width: px(3840), height: px(1080), bottom: px(0) }), [0, 540, 1920, 540])
})

test('a watermark that would be cut by the edge is moved into the frame', () => {
  assert.deepEqual(place({ left: px(1800), top: px(5000) }), [1720, 980, 200, 100])
  assert.deepEqual(place({ right: percent(100), bottom: percent(100) }), [0, 0, 200, 100])
})

test('the same part of the frame is covered in every quality', () => {
  const area = placeWatermark(image, { top: px(108), right: px(192) }, full)
  for (const [frame, expected] of [
    [{ width: 1920, height: 1080 }, [1528, 108, 200, 100]],
    [{ width: 1280, height: 720 }, [1019, 72, 133, 67]],
    [{ width: 426, height: 240 }, [339, 24, 44, 22]],
  ] as const) {
    const { x, y, width, height } = pixelsOf(area, frame)
    assert.deepEqual([x, y, width, height], expected)
  }
})

test('a tiny watermark has at least two pixels on each side', () => {
  assert.deepEqual(place({ width: px(0.01), right: px(0) }), [1918, 0, 2, 2])
})
