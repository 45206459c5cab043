import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSegments, makeGrid } from './grid.ts'
import { countSheets, layOutSprites, spritesVtt, tileSegments } from './sprites.ts'

const wide = { width: 426, height: 240 }
const pal = { num: 25, den: 1 }
const film = { num: 24000, den: 1001 }
const address = (sheet: number) => `sprites/${sheet}.jpg`

test('a short video has one tile per segment, and the last tile ends with its segment', () => {
  const grid = makeGrid(pal, 12.5)
  const sprites = layOutSprites(grid, wide)
  assert.deepEqual(sprites, { everySegments: 1, tiles: 4, columns: 4, rows: 1, width: 160, height: 90 })
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
})

test('a long video has at most 400 tiles, without gaps up to its end', () => {
  for (const [rate, seconds] of [
    [pal, 1_600],
    [pal, 7_201],
    [film, 10_000.3],
    [{ num: 60, den: 1 }, 86_400],
    [pal, 1],
  ] as const) {
    const grid = makeGrid(rate, seconds)
    const sprites = layOutSprites(grid, wide)
    const segments = countSegments(grid)
    assert.ok(sprites.tiles <= 400 && sprites.tiles > Math.min(200, segments - 1), `${sprites.tiles}`)
    assert.ok(tileSegments(sprites).every((segment) => segment < segments))
    assert.equal(tileSegments(sprites).length, sprites.tiles)
    const text = spritesVtt(grid, sprites, address)
    const times = [...text.matchAll(/(\d+):(\d+):([\d.]+) --> (\d+):(\d+):([\d.]+)/g)].map((parts) => {
      const [, a, b, c, d, e, f] = parts.map(Number)
      return [a! * 3600 + b! * 60 + c!, d! * 3600 + e! * 60 + f!]
    })
    assert.equal(times.length, sprites.tiles)
    for (const [i, [from, to]] of times.entries()) {
      assert.ok(from! < to!)
      assert.equal(from, times[i - 1]?.[1] ?? 0)
    }
    const end = (grid.frames * rate.den) / rate.num
    assert.ok(Math.abs(times.at(-1)![1]! - end) < 0.001)
  }
})

test('sheets have ten by ten tiles', () => {
  const grid = makeGrid(pal, 1_598)
  const sprites = layOutSprites(grid, wide)
  assert.deepEqual([sprites.tiles, sprites.columns, sprites.rows, countSheets(sprites)], [400, 10, 10, 4])
  const cues = spritesVtt(grid, sprites, (sheet) => `sprites/${sheet}.jpg?avh=x`)
    .split('\n\n')
    .slice(1)
  assert.match(cues[99]!, /sprites\/0\.jpg\?avh=x#xywh=1440,810,160,90/)
  assert.match(cues[100]!, /sprites\/1\.jpg\?avh=x#xywh=0,0,160,90/)
  assert.match(cues[211]!, /sprites\/2\.jpg\?avh=x#xywh=160,90,160,90/)
})

test('tiles have the aspect ratio of the video', () => {
  const sizeOf = (width: number, height: number) => {
    const { width: w, height: h } = layOutSprites(makeGrid(pal, 10), { width, height })
    return [w, h]
  }
  assert.deepEqual(sizeOf(240, 426), [160, 284])
  assert.deepEqual(sizeOf(320, 240), [160, 120])
  assert.deepEqual(sizeOf(240, 4_800), [14, 285])
  assert.deepEqual(sizeOf(100, 50), [100, 50])
  assert.deepEqual(sizeOf(1_000, 240), [160, 38])
})
