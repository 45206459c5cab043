import type { Grid } from './grid.ts'
import { inputLimits, MAX_PIXELS } from './limits.ts'

export type Size = { width: number; height: number }

/** The largest size of the same shape; nothing is made larger than it is. */
export function fit({ width, height }: Size, most: Size): Size {
  const scale = Math.min(1, most.width / width, most.height / height)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

// --- which frame

/** `HH:MM:SS`, `HH:MM:SS.ms`, `HH:MM:SS:frame` or seconds. */
export const timecodePattern =
  '^(?:\\d{1,3}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6}|:\\d{1,3})?|\\d{1,7}(?:\\.\\d{1,6})?)$'

/**
 * The frame that is shown at a time. Times are told in milliseconds, which most frames do not begin on: half of one
 * more, or 0.033 s would be the frame before the one that begins at 0.0333.
 */
const roundingSeconds = 0.0005

/** What lies outside of the video is its first frame. */
export function frameAt(grid: Grid, timecode: string): number {
  const [, hours, minutes, seconds, frames] =
    /^(?:(\d+):(\d+):)?(\d+(?:\.\d+)?)(?::(\d+))?$/.exec(timecode) ?? []
  const time = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds)
  const perSecond = grid.rate.num / grid.rate.den
  const frame =
    frames === undefined
      ? Math.floor((time + roundingSeconds) * perSecond)
      : // The first that begins in that second, and so many more.
        Math.ceil((time - roundingSeconds) * perSecond) + Number(frames)
  return frame >= 0 && frame < grid.frames ? frame : 0
}

/** Where a frame that shows something is looked for: not first where films fade in and out. */
const places = [0.1, 0.3, 0.5, 0.7, 0.9, 0]

export const candidatesOf = (frames: number) => [
  ...new Set(places.map((place) => Math.min(frames - 1, Math.floor(frames * place)))),
]

/** The side of the small grey picture by which a frame is judged. */
const side = 32

/** How bright a frame is, and how far apart its dark and its bright parts are; of 255. */
export type Looks = { mean: number; spread: number }

/** Without the darkest and the brightest twentieth: a mark in a corner, or a line of text, makes no picture. */
export function looksOf(pixels: Uint8Array): Looks {
  const sorted = pixels.toSorted()
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0
  const mean = sorted.reduce((sum, level) => sum + level, 0) / Math.max(1, sorted.length)
  return { mean, spread: at(0.95) - at(0.05) }
}

export const isGood = ({ mean, spread }: Looks) => mean > 20 && mean < 240 && spread > 30

/** For the best of those that are not good: any picture before an even colour, any colour before black and white. */
export const scoreOf = ({ mean, spread }: Looks) => spread + Math.min(mean, 255 - mean) / 4

// --- arguments

const quiet = ['-hide_banner', '-nostdin', '-y', '-loglevel', 'error']
/** Nothing about who made it, and the same bytes each time. */
const plain = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:v', '+bitexact']
/** As a JPEG has it (JFIF), whatever the picture's own way of coding colours. */
const toJpeg = 'out_color_matrix=bt601:out_range=pc'
const jpeg = ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-f', 'image2']

/** A frame of a file with a rendition's beginning and one segment: counted, as times need not begin at 0. */
const oneFrame = (input: string, frame: number, filter: string) => [
  ...[...quiet, ...inputLimits(), '-i', input, '-map', '0:v'],
  ...['-vf', `select=eq(n\\,${frame}),${filter}`, '-fps_mode', 'passthrough', '-frames:v', '1', ...plain],
]

export const frameArgs = (picture: { input: string; frame: number; size: Size; output: string }) => [
  ...oneFrame(picture.input, picture.frame, `scale=${picture.size.width}:${picture.size.height}:${toJpeg}`),
  ...[...jpeg, '-q:v', '3', '-update', '1', picture.output],
]

export const looksArgs = (picture: { input: string; frame: number; output: string }) => [
  ...oneFrame(picture.input, picture.frame, `scale=${side}:${side}:flags=area:out_range=pc,format=gray`),
  ...['-f', 'rawvideo', picture.output],
]

/** One sheet after the other of key frames, which is all that is decoded. */
export const sheetArgs = (sprites: {
  input: string
  tile: Size
  columns: number
  rows: number
  /** With `%d` for the number of the sheet. */
  output: string
}) => [
  ...[...quiet, ...inputLimits(), '-skip_frame', 'nokey', '-i', sprites.input, '-map', '0:v'],
  '-vf',
  `scale=${sprites.tile.width}:${sprites.tile.height}:${toJpeg},tile=${sprites.columns}x${sprites.rows}`,
  ...['-fps_mode', 'passthrough', ...plain, ...jpeg, '-q:v', '5', '-start_number', '0', sprites.output],
]

// --- pictures of strangers

export const pictureKinds = ['jpeg', 'png', 'webp'] as const
export type PictureKind = (typeof pictureKinds)[number]

/** By its first bytes: names and types are what clients make of them. */
export function kindOf(head: Buffer): PictureKind | undefined {
  if (head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'jpeg'
  if (head.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'png'
  const isWebp = head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'
  return isWebp ? 'webp' : undefined
}

/** Both sides of what is kept of an uploaded picture. */
const mostSide = 1_920

/** How to hold a picture upright, by the number that cameras write into it. */
const turns: Record<number, string> = {
  2: 'hflip',
  3: 'hflip,vflip',
  4: 'vflip',
  5: 'transpose=cclock_flip',
  6: 'transpose=clock',
  7: 'transpose=clock_flip',
  8: 'transpose=cclock',
}

/**
 * One JPEG of one picture. By the one format that its first bytes are of, with its own decoder: nothing is guessed, so
 * nothing that names other files is ever opened. What is cut off or broken is an error, not half a picture.
 */
export function pictureArgs(picture: {
  input: string
  kind: PictureKind
  orientation: number
  output: string
}): string[] {
  const { kind } = picture
  const turn = turns[picture.orientation]
  const steps = [
    `scale=w='min(${mostSide},iw)':h='min(${mostSide},ih)':force_original_aspect_ratio=decrease`,
    ...(turn === undefined ? [] : [turn]),
    // What shines through shows black; under it there may be any colour.
    ...(kind === 'jpeg' ? [] : ['format=gbrap', 'premultiply=inplace=1']),
    `scale=${toJpeg}`,
    'setsar=1',
  ]
  return [
    ...[...quiet, '-xerror', '-err_detect', 'explode', '-noautorotate'],
    ...['-protocol_whitelist', 'file', '-format_whitelist', `${kind}_pipe`],
    ...['-max_pixels', `${MAX_PIXELS}`, '-max_alloc', `${512 * 1024 ** 2}`, '-threads', '1'],
    ...['-f', `${kind}_pipe`, '-c:v', kind === 'jpeg' ? 'mjpeg' : kind, '-i', picture.input],
    ...['-map', '0:v', '-vf', steps.join(','), '-frames:v', '1', ...plain],
    ...[...jpeg, '-q:v', '3', '-update', '1', picture.output],
  ]
}

const exif = Buffer.from('Exif\0\0')

/** How a JPEG is to be turned (Exif, tag 0x0112). 1, as it is, where nothing says so or it cannot be read. */
export function orientationOf(head: Buffer): number {
  try {
    for (let at = 2; head.readUInt8(at) === 0xff; at += 2 + head.readUInt16BE(at + 2)) {
      const isExif = head.readUInt8(at + 1) === 0xe1 && head.subarray(at + 4, at + 10).equals(exif)
      if (isExif) return readOrientation(head.subarray(at + 10))
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return 1
}

function readOrientation(tiff: Buffer): number {
  const isLittle = tiff.toString('latin1', 0, 2) === 'II'
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const first = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  for (let i = 0; i < short(first); i++) {
    const entry = first + 2 + 12 * i
    if (short(entry) === 0x0112) return short(entry + 8)
  }
  return 1
}
