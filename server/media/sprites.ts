import { findSegment, type Grid, segmentOf } from './grid.ts'
import { fit, type Size } from './images.ts'
import { formatTimestamp } from './webvtt.ts'

/** Small frames for scrubbing, tiled into sheets. The tiles divide the video into equal intervals. */
export type Sprites = {
  tiles: number
  /** Tiles per row and rows per sheet. */
  columns: number
  rows: number
  /** The size of a tile. */
  width: number
  height: number
  /** Only in sprites of earlier versions: the number of segments per tile. A tile is the first frame of a segment. */
  everySegments?: number
}

/** Even on a large screen, each of so many tiles has only a few pixels of the seek bar. */
const maxTiles = 400
/** A player loads a sheet before it can show any of its tiles, so sheets are small: 200 to 300 kB. */
const maxColumns = 5
const maxRows = 5
/** Twice the 240 pixels of a usual preview, for screens with a high pixel density. One size costs less than two. */
const maxSide = 480

/** One tile per second, fewer per second for videos of more than `maxTiles` seconds. */
export function layOutSprites({ rate, frames }: Grid, videoSize: Size): Sprites {
  const seconds = Math.round((frames * rate.den) / rate.num)
  const tiles = Math.min(Math.max(1, seconds), maxTiles, frames)
  return {
    tiles,
    columns: Math.min(tiles, maxColumns),
    rows: Math.min(Math.ceil(tiles / maxColumns), maxRows),
    ...fit(videoSize, { width: maxSide, height: maxSide }),
  }
}

export const countSheets = ({ tiles, columns, rows }: Sprites) => Math.ceil(tiles / (columns * rows))

/** The lowest quality that has enough pixels for a tile, because it is decoded fastest. `rungs` begins with the lowest. */
export const chooseRung = <R extends Size>(rungs: R[]): R | undefined =>
  rungs.find(({ width, height }) => Math.max(width, height) >= maxSide) ?? rungs.at(-1)

/** The middle frames of all intervals, the segments that contain them, and their numbers in the joined segments. */
export function findTileFrames(grid: Grid, { tiles }: Sprites) {
  const segments: number[] = []
  const frames: number[] = []
  const gridFrames: number[] = []
  let joinedFrames = 0
  for (let tile = 0; tile < tiles; tile++) {
    const frame = Math.floor(((tile + 0.5) * grid.frames) / tiles)
    const segment = segmentOf(grid, findSegment(grid, frame))
    gridFrames.push(frame)
    if (segments.at(-1) !== segment.index) {
      segments.push(segment.index)
      joinedFrames += segment.frames
    }
    frames.push(joinedFrames - segment.frames + frame - segment.fromFrame)
  }
  return { segments, frames, gridFrames }
}

/** A WebVTT file with the time, the sheet and the rectangle of each tile. */
export function spritesVtt(grid: Grid, sprites: Sprites, urlOf: (sheet: number) => string): string {
  const { tiles, columns, rows, width, height } = sprites
  const cues = Array.from({ length: tiles }, (_, tile) => {
    const position = tile % (columns * rows)
    const [x, y] = [(position % columns) * width, Math.floor(position / columns) * height]
    const sheet = Math.floor(tile / (columns * rows))
    const [start, end] = [tile, tile + 1].map((each) => timestamp(grid, startOf(grid, sprites, each)))
    return `${start} --> ${end}\n${urlOf(sheet)}#xywh=${x},${y},${width},${height}\n`
  })
  return ['WEBVTT\n', ...cues].join('\n')
}

/** Where the interval of a tile begins, in frames. */
const startOf = (grid: Grid, { tiles, everySegments }: Sprites, tile: number) =>
  everySegments === undefined ? (tile * grid.frames) / tiles : segmentOf(grid, tile * everySegments).fromFrame

const timestamp = ({ rate }: Grid, frame: number) =>
  formatTimestamp(Math.round((frame * rate.den * 1_000) / rate.num))
