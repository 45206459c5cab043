import { MAX_PIXELS } from './limits.ts'

export type Size = { width: number; height: number }

/** The largest size with the same aspect ratio that fits into `max`. Never larger than the original. */
export function fit({ width, height }: Size, max: Size): Size {
  const scale = Math.min(1, max.width / width, max.height / height)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

// --- arguments that all images share

export const quietArgs = ['-hide_banner', '-nostdin', '-y', '-loglevel', 'error']
/** No metadata, and the same bytes every time. */
export const reproducibleArgs = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:v', '+bitexact']
/** The color matrix and range of a JPEG (JFIF), whatever those of the source are. */
export const jpegColors = 'out_color_matrix=bt601:out_range=pc'
export const jpegArgs = ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-f', 'image2']

// --- uploaded images

export type ImageFormat = 'jpeg' | 'png' | 'webp'

/** Detected from the first bytes, because file names and content types are not reliable. */
export function imageFormatOf(head: Buffer): ImageFormat | undefined {
  if (head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'jpeg'
  if (head.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'png'
  const isWebp = head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'
  return isWebp ? 'webp' : undefined
}

/** The maximum width and height of a stored thumbnail. */
const maxThumbnailSide = 1_920
/** The maximum width and height of a stored watermark: the width of 4K. */
const maxWatermarkSide = 3_840

/** The filters that apply an Exif orientation. */
const rotations: Record<number, string[]> = {
  2: ['hflip'],
  3: ['hflip', 'vflip'],
  4: ['vflip'],
  5: ['transpose=cclock_flip'],
  6: ['transpose=clock'],
  7: ['transpose=clock_flip'],
  8: ['transpose=cclock'],
}

type Image = { path: string; format: ImageFormat; orientation: number }

/** The arguments that convert an uploaded image to a JPEG. */
export function thumbnailArgs(image: Image, output: string): string[] {
  const filters = [
    `scale=w='min(${maxThumbnailSide},iw)':h='min(${maxThumbnailSide},ih)':force_original_aspect_ratio=decrease`,
    ...rotationOf(image),
    // Transparent pixels become black. Their own color can be arbitrary.
    ...(image.format === 'jpeg' ? [] : ['format=gbrap', 'premultiply=inplace=1']),
    `scale=${jpegColors}`,
    'setsar=1',
  ]
  return [...decodeArgs(image), '-vf', filters.join(','), ...jpegArgs, '-q:v', '3', '-update', '1', output]
}

/** The arguments that convert an uploaded image to a PNG with transparency. `size` is its size before it is rotated. */
export function watermarkArgs(image: Image, size: Size, output: string): string[] {
  const stored = fit(size, { width: maxWatermarkSide, height: maxWatermarkSide })
  const isSmaller = stored.width < size.width || stored.height < size.height
  const filters = [
    ...(isSmaller ? scaleWithAlpha(stored) : []),
    ...rotationOf(image),
    'format=rgba',
    'setsar=1',
  ]
  const png = ['-c:v', 'png', '-pred', 'mixed', '-f', 'image2', '-update', '1']
  return [...decodeArgs(image), '-vf', filters.join(','), ...png, output]
}

/** The filters that scale an image with transparency. Colors of transparent pixels do not leak into its edges. */
export const scaleWithAlpha = ({ width, height }: Size) => [
  'format=gbrap',
  'premultiply=inplace=1',
  `scale=${width}:${height}`,
  'unpremultiply=inplace=1',
]

const rotationOf = ({ orientation }: Image) => rotations[orientation] ?? []

/** The size of an image after its orientation is applied. */
export const uprightSize = ({ width, height }: Size, orientation: number): Size =>
  orientation >= 5 && orientation <= 8 ? { width: height, height: width } : { width, height }

/**
 * Demuxer and decoder are chosen by the format that was detected. ffmpeg detects nothing itself, so it never opens a format
 * that refers to other files. A truncated or damaged image is an error.
 */
const decodeArgs = ({ path, format }: Image) => [
  ...[...quietArgs, '-xerror', '-err_detect', 'explode', '-noautorotate'],
  ...['-protocol_whitelist', 'file', '-format_whitelist', `${format}_pipe`],
  ...['-max_pixels', `${MAX_PIXELS}`, '-max_alloc', `${512 * 1024 ** 2}`, '-threads', '1'],
  ...['-f', `${format}_pipe`, '-c:v', format === 'jpeg' ? 'mjpeg' : format, '-i', path],
  ...['-map', '0:v', '-frames:v', '1', ...reproducibleArgs],
]

const exif = Buffer.from('Exif\0\0')

/** The orientation of a JPEG (Exif tag 0x0112). 1, which means upright, if there is none or it cannot be read. */
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
