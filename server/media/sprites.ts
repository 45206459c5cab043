import { countSegments, type Grid, segmentOf } from './grid.ts'
import { fit, type Size } from './pictures.ts'

/** Small pictures for scrubbing, many to a sheet; each is the first frame of a segment. */
export type Sprites = {
  /** How many segments each tile stands for. */
  everySegments: number
  tiles: number
  /** Of a sheet. */
  columns: number
  rows: number
  /** Of a tile. */
  width: number
  height: number
}

const mostTiles = 400
const mostAcross = 10
/** 160 wide; a portrait of 9:16 stays that, and what is still higher gets narrower. */
const mostTile = { width: 160, height: 285 }

/**
 * Each tile is the first frame of a segment, which is a key frame: nothing else has to be decoded, and where one ends
 * and the next begins is exact to the frame.
 */
export function laySprites(grid: Grid, picture: Size): Sprites {
  const segments = countSegments(grid)
  const everySegments = Math.ceil(segments / mostTiles)
  const tiles = Math.ceil(segments / everySegments)
  return {
    everySegments,
    tiles,
    columns: Math.min(tiles, mostAcross),
    rows: Math.min(Math.ceil(tiles / mostAcross), mostAcross),
    ...fit(picture, mostTile),
  }
}

export const countSheets = ({ tiles, columns, rows }: Sprites) => Math.ceil(tiles / (columns * rows))

/** The segments whose first frames are the tiles. */
export const tileSegments = ({ tiles, everySegments }: Sprites) =>
  Array.from({ length: tiles }, (_, tile) => tile * everySegments)

/** Which part of which sheet is shown when. */
export function spritesVtt(grid: Grid, sprites: Sprites, addressOf: (sheet: number) => string): string {
  const { tiles, columns, rows, width, height, everySegments } = sprites
  const start = (tile: number) => timestamp(grid, segmentOf(grid, tile * everySegments).fromFrame)
  const cues = Array.from({ length: tiles }, (_, tile) => {
    const place = tile % (columns * rows)
    const [x, y] = [(place % columns) * width, Math.floor(place / columns) * height]
    const sheet = Math.floor(tile / (columns * rows))
    return `${start(tile)} --> ${start(tile + 1)}\n${addressOf(sheet)}#xywh=${x},${y},${width},${height}\n`
  })
  return ['WEBVTT\n', ...cues].join('\n')
}

function timestamp({ rate }: Grid, frame: number): string {
  const ms = Math.round((frame * rate.den * 1_000) / rate.num)
  const part = (unit: number, size: number, digits = 2) =>
    String(Math.floor(ms / unit) % size).padStart(digits, '0')
  const hours = String(Math.floor(ms / 3_600_000)).padStart(2, '0')
  return `${hours}:${part(60_000, 60)}:${part(1_000, 60)}.${part(1, 1_000, 3)}`
}
