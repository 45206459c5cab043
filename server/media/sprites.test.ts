import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countSegments, makeGrid, segmentOf } from './grid.ts'
import { chooseRung, countSheets, findTileFrames, layOutSprites, spritesVtt } from './sprites.ts'

const wide = { width: 640, height: 360 }
const pal = { num: 25, den: 1 }
const film = { num: 24000, den: 1001 }
const address = (sheet: number) => `sprites/${sheet}.jpg`

/** The start and the end of each cue in seconds. */
const timesIn = (text: string) =>
  [...text.matchAll(/(\d+):(\d+):([\d.]+) --> (\d+):(\d+):([\d.]+)/g)].map((parts) => {
    const [, a, b, c, d, e, f] = parts.map(Number)
    return [a! * 3600 + b! * 60 + c!, d! * 3600 + e! * 60 + f!] as const
  })

test('a short video has one tile per second, and its intervals have equal lengths', () => {
  const grid = makeGrid(pal, 3.2)
  const sprites = layOutSprites(grid, wide)
  assert.deepEqual(sprites, { tiles: 3, columns: 3, rows: 1, width: 480, height: 270 })
  assert.deepEqual(findTileFrames(grid, sprites), {
    segments: [0, 1, 2],
    frames: [13, 40, 66],
    gridFrames: [13, 40, 66],
  })
  assert.equal(
    spritesVtt(grid, sprites, address),
    [
      'WEBVTT\n',
      '00:00:00.000 --> 00:00:01.067\nsprites/0.jpg#xywh=0,0,480,270\n',
      '00:00:01.067 --> 00:00:02.133\nsprites/0.jpg#xywh=480,0,480,270\n',
      '00:00:02.133 --> 00:00:03.200\nsprites/0.jpg#xywh=960,0,480,270\n',
    ].join('\n'),
  )
})

test('a video of one frame or less than a second has one tile', () => {
  for (const [rate, seconds, frame] of [
    [pal, 0.04, 0],
    [pal, 0.2, 2],
    [film, 0.9, 11],
    [{ num: 1, den: 4 }, 4, 0],
  ] as const) {
    const grid = makeGrid(rate, seconds)
    const sprites = layOutSprites(grid, wide)
    assert.deepEqual([sprites.tiles, countSheets(sprites)], [1, 1])
    assert.deepEqual(findTileFrames(grid, sprites), { segments: [0], frames: [frame], gridFrames: [frame] })
  }
})

describe('a video of any length', () => {
  const lengths = [
    [pal, 1],
    [pal, 99.9],
    [pal, 400.4],
    [pal, 7_201],
    [film, 10_000.3],
    [{ num: 1, den: 3 }, 600],
    [{ num: 30000, den: 1001 }, 36_000],
    [{ num: 60, den: 1 }, 86_400],
  ] as const
  for (const [rate, seconds] of lengths) {
    const grid = makeGrid(rate, seconds)
    const sprites = layOutSprites(grid, wide)
    const name = `${seconds} s at ${rate.num}/${rate.den}`

    test(`has at most 400 tiles on 16 sheets (${name})`, () => {
      assert.equal(sprites.tiles, Math.min(400, Math.round(seconds), grid.frames))
      assert.equal(countSheets(sprites), Math.ceil(sprites.tiles / 25))
    })

    test(`has intervals without gaps from its start to its end (${name})`, () => {
      const times = timesIn(spritesVtt(grid, sprites, address))
      assert.equal(times.length, sprites.tiles)
      for (const [i, [from, to]] of times.entries()) {
        assert.ok(from < to)
        assert.equal(from, times[i - 1]?.[1] ?? 0)
      }
      const end = (grid.frames * rate.den) / rate.num
      assert.ok(Math.abs(times.at(-1)![1] - end) < 0.001)
    })

    test(`shows the frame in the middle of each interval (${name})`, () => {
      const { segments, frames } = findTileFrames(grid, sprites)
      assert.ok(segments.every((segment) => segment < countSegments(grid)))
      const joined = segments.flatMap((index) => {
        const segment = segmentOf(grid, index)
        return Array.from({ length: segment.frames }, (_, i) => segment.fromFrame + i)
      })
      const times = timesIn(spritesVtt(grid, sprites, address))
      const frameSeconds = rate.den / rate.num
      for (const [i, [from, to]] of times.entries()) {
        const shownFrom = joined[frames[i]!]! * frameSeconds
        const middle = (from + to) / 2
        assert.ok(shownFrom <= middle + 0.001 && middle < shownFrom + frameSeconds + 0.001, `tile ${i}`)
      }
    })
  }
})

test('sheets have five by five tiles', () => {
  const grid = makeGrid(pal, 600)
  const cues = spritesVtt(grid, layOutSprites(grid, wide), (sheet) => `sprites/${sheet}.jpg?avh=x`)
    .split('\n\n')
    .slice(1)
  assert.match(cues[24]!, /sprites\/0\.jpg\?avh=x#xywh=1920,1080,480,270/)
  assert.match(cues[25]!, /sprites\/1\.jpg\?avh=x#xywh=0,0,480,270/)
  assert.match(cues[399]!, /sprites\/15\.jpg\?avh=x#xywh=1920,1080,480,270/)
})

test('tiles have the aspect ratio of the video and at most 480 pixels in width and height', () => {
  const sizeOf = (width: number, height: number) => {
    const { width: w, height: h } = layOutSprites(makeGrid(pal, 10), { width, height })
    return [w, h]
  }
  assert.deepEqual(sizeOf(360, 640), [270, 480])
  assert.deepEqual(sizeOf(480, 360), [480, 360])
  assert.deepEqual(sizeOf(240, 4_800), [24, 480])
  assert.deepEqual(sizeOf(100, 50), [100, 50])
  assert.deepEqual(sizeOf(1_000, 240), [480, 115])
})

test('tiles are made from the lowest quality that is large enough', () => {
  const rungs = [
    { width: 240, height: 426 },
    { width: 360, height: 640 },
    { width: 720, height: 1_280 },
  ]
  assert.equal(chooseRung(rungs), rungs[1])
  assert.equal(chooseRung(rungs.slice(0, 1)), rungs[0])
  assert.equal(chooseRung([]), undefined)
})

test('the list of sprites from an earlier version has a tile for every few segments', () => {
  const oldGrid = (seconds: number) => ({ rate: pal, frames: makeGrid(pal, seconds).frames })
  const grid = oldGrid(12.5)
  const sprites = { everySegments: 1, tiles: 4, columns: 4, rows: 1, width: 160, height: 90 }
  assert.equal(
    spritesVtt(grid, sprites, address),
    [
      'WEBVTT\n',
      '00:00:00.000 --> 00:00:02.000\nsprites/0.jpg#xywh=0,0,160,90\n',
      '00:00:02.000 --> 00:00:06.000\nsprites/0.jpg#xywh=160,0,160,90\n',
      '00:00:06.000 --> 00:00:10.000\nsprites/0.jpg#xywh=320,0,160,90\n',
      '00:00:10.000 --> 00:00:12.520\nsprites/0.jpg#xywh=480,0,160,90\n',
    ].join('\n'),
  )
  const long = { everySegments: 46, tiles: 392, columns: 10, rows: 10, width: 160, height: 90 }
  const times = timesIn(spritesVtt(oldGrid(72_000), long, address))
  assert.deepEqual([times[1], times.at(-1)![1]], [[182, 366], 72_000])
})
