import { countSegments, type Grid, segmentOf } from './grid.ts'
import { fit, type Size } from './images.ts'
import { formatTimestamp } from './webvtt.ts'

/** Small frames for scrubbing, tiled into sheets. Each tile is the first frame of a segment. */
export type Sprites = {
  /** The number of segments per tile. */
  everySegments: number
  tiles: number
  /** Tiles per row and rows per sheet. */
  columns: number
  rows: number
  /** The size of a tile. */
  width: number
  height: number
}

const maxTiles = 400
const maxColumns = 10
const maxRows = 10
/** 160 pixels wide. 9:16 portraits keep that width, taller videos get narrower tiles. */
const maxTile = { width: 160, height: 285 }

/**
 * Each tile is the first frame of a segment. That is a key frame, so no other frames have to be decoded, and the times of
 * tiles are exact to the frame.
 */
export function layOutSprites(grid: Grid, videoSize: Size): Sprites {
  const segments = countSegments(grid)
  const everySegments = Math.ceil(segments / maxTiles)
  const tiles = Math.ceil(segments / everySegments)
  return {
    everySegments,
    tiles,
    columns: Math.min(tiles, maxColumns),
    rows: Math.min(Math.ceil(tiles / maxColumns), maxRows),
    ...fit(videoSize, maxTile),
  }
}

export const countSheets = ({ tiles, columns, rows }: Sprites) => Math.ceil(tiles / (columns * rows))

/** The segments whose first frames are used as tiles. */
export const tileSegments = ({ tiles, everySegments }: Sprites) =>
  Array.from({ length: tiles }, (_, tile) => tile * everySegments)

/** A WebVTT file with the time, the sheet and the rectangle of each tile. */
export function spritesVtt(grid: Grid, sprites: Sprites, urlOf: (sheet: number) => string): string {
  const { tiles, columns, rows, width, height, everySegments } = sprites
  const start = (tile: number) => timestamp(grid, segmentOf(grid, tile * everySegments).fromFrame)
  const cues = Array.from({ length: tiles }, (_, tile) => {
    const position = tile % (columns * rows)
    const [x, y] = [(position % columns) * width, Math.floor(position / columns) * height]
    const sheet = Math.floor(tile / (columns * rows))
    return `${start(tile)} --> ${start(tile + 1)}\n${urlOf(sheet)}#xywh=${x},${y},${width},${height}\n`
  })
  return ['WEBVTT\n', ...cues].join('\n')
}

const timestamp = ({ rate }: Grid, frame: number) =>
  formatTimestamp(Math.round((frame * rate.den * 1_000) / rate.num))
