import type { Grid } from './grid.ts'
import { jpegArgs, jpegColors, quietArgs, reproducibleArgs, type Size } from './images.ts'
import { inputLimits } from './limits.ts'
import type { Rational } from './source-media.ts'
import type { Sprites } from './sprites.ts'
import { frameOfTimecode } from './timecode.ts'

// --- choice of the frame

/** The frame that is shown at a time. A time outside of the video selects the first frame. */
export function frameAt({ rate, frames }: Grid, timecode: string): number {
  const frame = frameOfTimecode(rate, timecode)
  return frame >= 0 && frame < frames ? frame : 0
}

/** The start comes last, because many films begin with a fade from black. */
const candidatePositions = [0.1, 0.3, 0.5, 0.7, 0.9, 0]

/** The frames among which a thumbnail is chosen, in order of preference. */
export const candidateFrames = (frames: number) => [
  ...new Set(candidatePositions.map((position) => Math.min(frames - 1, Math.floor(frames * position)))),
]

/** The side of the small gray image that is used to rate a frame. */
const sampleSide = 32

/** The mean brightness, and the difference between the dark and the bright parts, from 0 to 255. */
export type Brightness = { mean: number; spread: number }

/** The darkest and the brightest 5 % are ignored, because a watermark or a line of text alone is no good thumbnail. */
export function brightnessOf(pixels: Uint8Array): Brightness {
  const sorted = pixels.toSorted()
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0
  const mean = sorted.reduce((sum, level) => sum + level, 0) / Math.max(1, sorted.length)
  return { mean, spread: at(0.95) - at(0.05) }
}

export const isGoodThumbnail = ({ mean, spread }: Brightness) => mean > 20 && mean < 240 && spread > 30

/** Ranks frames that are not good: any structure before a uniform color, any color before black and white. */
export const thumbnailScore = ({ mean, spread }: Brightness) => spread + Math.min(mean, 255 - mean) / 4

// --- arguments for ffmpeg

/** A file with the init segment and one segment of a rendition, and a frame of the grid in this segment. */
export type FrameInput = {
  input: string
  frame: number
  /** Of the grid, if the rendition does not have all of its frames. */
  rate?: Rational | undefined
}

/** Repeats each frame until the next one, so that all frames of the grid exist. */
const fillGrid = ({ num, den }: Rational) => `fps=fps=${num}/${den}:round=near:start_time=0`

const startAt = ({ rate, fromFrame }: { rate: Rational; fromFrame: number }) =>
  `setpts=PTS-STARTPTS+${((fromFrame * rate.den) / rate.num).toFixed(6)}/TB`

/** The frame is selected by its number, because timestamps need not begin at 0. */
function oneFrame({ input, frame, rate }: FrameInput, filter: string): string[] {
  const fill = rate ? ['setpts=PTS-STARTPTS', fillGrid(rate), 'tpad=stop=-1:stop_mode=clone'] : []
  const filters = [...fill, `select=eq(n\\,${frame})`, filter].join(',')
  return [
    ...[...quietArgs, ...inputLimits(), '-i', input, '-map', '0:v'],
    ...['-vf', filters, '-fps_mode', 'passthrough', '-frames:v', '1'],
    ...reproducibleArgs,
  ]
}

export const thumbnailArgs = (options: FrameInput & { size: Size; output: string }) => [
  ...oneFrame(options, `scale=${options.size.width}:${options.size.height}:${jpegColors}`),
  ...[...jpegArgs, '-q:v', '3', '-update', '1', options.output],
]

/** The first frame of a file whose streams are known: little is read to detect them. */
export const keyFrameArgs = ({ input, size, output }: { input: string; size: Size; output: string }) => [
  ...[...quietArgs, ...inputLimits(), '-probesize', '100000', '-analyzeduration', '0', '-i', input],
  ...['-map', '0:v', '-vf', `scale=${size.width}:${size.height}:${jpegColors}`, '-frames:v', '1'],
  ...[...reproducibleArgs, ...jpegArgs, '-q:v', '4', '-update', '1', output],
]

/** Writes the pixels for `brightnessOf`. */
export const brightnessArgs = (options: FrameInput & { output: string }) => [
  ...oneFrame(options, `scale=${sampleSide}:${sampleSide}:flags=area:out_range=pc,format=gray`),
  ...['-f', 'rawvideo', options.output],
]

/** An expression for ascending frame numbers. A binary search, because ffmpeg rejects a sum of more than 100 terms. */
function isOneOf(frames: number[]): string {
  const middle = Math.floor(frames.length / 2)
  if (middle === 0) return `eq(n,${frames[0]})`
  return `if(lt(n,${frames[middle]}),${isOneOf(frames.slice(0, middle))},${isOneOf(frames.slice(middle))})`
}

/** Tiles frames, selected by their numbers, into sprite sheets. */
export const spriteSheetArgs = (options: {
  input: string
  frames: number[]
  /** If the input does not have all frames of the grid, and starts at this one. `frames` are then those of the grid. */
  gaps?: { rate: Rational; fromFrame: number } | undefined
  sprites: Sprites
  /** With `%d` for the number of the sheet. */
  output: string
}) => {
  const { width, height, columns, rows } = options.sprites
  const { gaps } = options
  const filters = [
    ...(gaps ? [startAt(gaps), fillGrid(gaps.rate), 'tpad=stop=2:stop_mode=clone'] : []),
    `select=${isOneOf(options.frames).replaceAll(',', '\\,')}`,
    `scale=${width}:${height}:${jpegColors}`,
    `tile=${columns}x${rows}`,
  ]
  return [
    ...[...quietArgs, ...inputLimits(), '-i', options.input, '-map', '0:v', '-vf', filters.join(',')],
    // Tiles have twice the pixels that most screens show, which hides a lower JPEG quality.
    ...['-fps_mode', 'passthrough', ...reproducibleArgs, ...jpegArgs, '-q:v', '8', '-start_number', '0'],
    options.output,
  ]
}
