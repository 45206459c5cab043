import { type Grid, type Segment, secondsOf, timescaleOf } from './grid.ts'
import { type Size, scaleWithAlpha } from './images.ts'
import type { Quality, Rung } from './ladder.ts'
import type { VideoStream } from './probe.ts'
import { toneMapping } from './tone-mapping.ts'
import { type Area, pixelsOf } from './watermark.ts'

/** Where the frames of a chunk come from: a video stream, or a still image for a source without video. */
type VideoInput =
  | {
      path: string
      /** Limits on what the file can make ffmpeg do. */
      options: string[]
      stream: Omit<VideoStream, 'codec' | 'rate' | 'sourceRate'>
      /** The position in the source where the grid begins. */
      offsetSeconds: number
    }
  | 'still'

/** An image that is burnt into every frame. */
export type Overlay = {
  /** The path of a PNG. */
  path: string
  area: Area
  /** Between 0 and 1. */
  opacity: number
}

export type VideoChunk = {
  input: VideoInput
  grid: Grid
  /** Consecutive, at least one. */
  segments: Segment[]
  /** Sorted from the lowest quality to the highest. */
  outputs: { rung: Rung; path: string }[]
  overlays: Overlay[]
  canToneMap: boolean
  /** The input changes its size. */
  hasSeveralSizes?: boolean
}

/**
 * Decoding starts this long before the first frame of a chunk. A key frame may be shown later than frames that follow it
 * in the file. Those frames need an earlier key frame.
 */
const leadFrames = 8
const maxLeadSeconds = 1

const stillColor = '0x1f2430'

/** Decodes once and encodes each quality into its own file, with one fragment per segment. */
export function encodeVideoArgs(chunk: VideoChunk): string[] {
  const { grid, input, outputs, overlays, segments } = chunk
  const start = secondsOf(grid, segments[0]!.fromFrame)
  const lead =
    input === 'still' ? 0 : Math.min(maxLeadSeconds, secondsOf(grid, leadFrames), start + input.offsetSeconds)
  return [
    ...quiet,
    ...(input === 'still' ? stillInput(chunk) : fileInput(input, start + input.offsetSeconds - lead)),
    ...overlays.flatMap(({ path }) => ['-f', 'png_pipe', '-i', path]),
    ...['-filter_complex_threads', '1', '-filter_complex', filterGraph(chunk, lead)],
    ...outputs.flatMap((output, i) => outputArgs(chunk, { ...output, label: `[v${i}]`, start })),
  ]
}

const quiet = ['-hide_banner', '-nostdin', '-y', '-loglevel', 'error']

function fileInput({ path, options, stream }: Exclude<VideoInput, 'still'>, seconds: number): string[] {
  // An inexact seek: the frames before the start are needed to know what is shown at the start. The grid drops them.
  const seek = seconds > 0 ? ['-noaccurate_seek', '-ss', seconds.toFixed(6)] : []
  // When the frame size changes (a browser's recording of a window), ffmpeg recreates the filters, and the new ones
  // count time from 0. Without that, `scale` accepts any size. The filters before it only read timestamps, unless they
  // rotate or deinterlace.
  const isPlain = !stream.isTurned && !stream.isInterlaced
  return [...options, ...(isPlain ? ['-reinit_filter', '0'] : []), ...seek, '-i', path]
}

function stillInput({ grid, outputs }: VideoChunk): string[] {
  const { width, height } = outputs.at(-1)!.rung
  return [
    '-f',
    'lavfi',
    '-i',
    `color=c=${stillColor}:s=${width}x${height}:r=${grid.rate.num}/${grid.rate.den}`,
  ]
}

function filterGraph(chunk: VideoChunk, lead: number): string {
  const { input, grid, outputs, canToneMap } = chunk
  const isFile = input !== 'still'
  const top = outputs.at(-1)!.rung
  const { num, den } = grid.rate
  const steps = [
    ...(isFile && input.stream.isInterlaced ? ['bwdif=mode=send_frame:deint=interlaced'] : []),
    // Timestamps decide which frame is shown at each point of the grid. The last frame is repeated to the end, even if
    // the video stream ends before the chunk begins. The first frame is shown from the start.
    `setpts=round(PTS-${lead.toFixed(6)}/TB)`,
    `fps=fps=${num}/${den}:round=near`,
    'tpad=stop=-1:stop_mode=clone',
    `fps=fps=${num}/${den}:start_time=0`,
    ...scaleTo(top, chunk),
    'setsar=1',
    ...(isFile && canToneMap ? toneMapping(input.stream) : []),
    'format=yuv420p',
  ]
  const from = isFile ? `[0:${input.stream.index}]` : '[0:v]'
  const { chains: overlayChains, label: largest } = overlayFilters(chunk, '[all]')
  const chains = [`${from}${steps.join(',')}[all]`, ...overlayChains]
  // Each size is scaled from the largest. Scaling in a cascade loses sharpness (SSIM 0.003 at 360p) and saves nothing.
  const lower = outputs.slice(0, -1)
  const copies = lower.map((_, i) => `[c${i}]`).join('')
  chains.push(`${largest}split=${outputs.length}${copies}[v${lower.length}]`)
  for (const [i, { rung }] of lower.entries()) chains.push(`[c${i}]scale=${rung.width}:${rung.height}[v${i}]`)
  return chains.join(';')
}

/** Frames of another shape than the video get bars. Rounding may change the shape by a little, which nobody sees. */
function scaleTo({ width, height }: Size, { hasSeveralSizes }: VideoChunk): string[] {
  if (!hasSeveralSizes) return [`scale=${width}:${height}:out_range=tv`]
  const fits = `lt(abs(dar*${height}/${width}-1),0.02)`
  const fitted = (full: number, other: string) => `if(${fits},${full},2*round(min(${full},${other})/2))`
  const [w, h] = [fitted(width, `${height}*dar`), fitted(height, `${width}/dar`)]
  return [
    `scale=w='${w}':h='${h}':eval=frame:out_range=tv`,
    `pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2:eval=frame`,
  ]
}

/**
 * Burns the overlays into the largest size; the others are scaled from it. Each image is decoded, scaled and converted to
 * the format of the frames once. After that, a frame costs only the blending of the pixels below the image.
 */
function overlayFilters(chunk: VideoChunk, frames: string): { chains: string[]; label: string } {
  const { outputs, overlays } = chunk
  const labels = [frames, ...overlays.map((_, i) => `[marked${i}]`)]
  const chains = overlays.flatMap(({ area, opacity }, i) => {
    const { x, y, ...size } = pixelsOf(area, outputs.at(-1)!.rung)
    const image = [
      ...scaleWithAlpha(size),
      ...(opacity === 1 ? [] : [`colorchannelmixer=aa=${opacity}`]),
      `scale=out_color_matrix=${colorMatrixOf(chunk)}:out_range=tv`,
      'format=yuva420p',
    ]
    return [
      `[${i + 1}:v]${image.join(',')}[image${i}]`,
      `${labels[i]}[image${i}]overlay=x=${x}:y=${y}:eval=init:format=yuv420${labels[i + 1]}`,
    ]
  })
  return { chains, label: labels.at(-1)! }
}

/** The color matrix of the frames. Players assume BT.709 for HD and BT.601 for SD if a video declares none. */
function colorMatrixOf({ input, canToneMap }: VideoChunk): string {
  if (input === 'still') return 'bt601'
  const { dynamicRange, colorMatrix, width, height } = input.stream
  if (dynamicRange !== 'sdr' && canToneMap) return 'bt709'
  return colorMatrix ?? (Math.min(width, height) >= 720 ? 'bt709' : 'bt601')
}

type Tuning = { crf: string; parameters: string }

/**
 * Settings that are better than those of the preset: a fixed pattern of B-frames instead of an adaptive one, a coarse
 * motion search, and a more even distribution of bits. Larger sizes also use a longer lookahead and fewer block
 * partitions. At the SSIM of the preset with 16 B-frames and key frames every 2 s (CRF 23), this takes 0.8 to 1 of the
 * bytes and 0.55 to 0.7 of the time. For 4K, the longer lookahead would take a gigabyte of memory.
 */
const fixed = 'b-adapt=0:me=dia'
const lookahead = `${fixed}:aq-mode=2:aq-strength=0.6:rc-lookahead=40:partitions=i4x4,i8x8`
const small = { crf: '20.5', parameters: `${fixed}:bframes=5:subme=1:aq-strength=0.7:qcomp=0.5` }
const medium = { crf: '22.7', parameters: `${lookahead}:bframes=5:subme=1` }
const large = { crf: '22', parameters: `${lookahead}:bframes=3:subme=2` }
const huge = { crf: '20.7', parameters: `${fixed}:bframes=5:subme=2:aq-strength=0.6` }

const tunings: Record<Quality, Tuning> = {
  '240p': small,
  '360p': small,
  '480p': medium,
  '720p': large,
  '1080p': large,
  '2160p': huge,
}

/** The times of the key frames. They are a quarter of a frame early, so that rounding cannot select the next frame. */
function keyFrameTimes({ grid, segments }: VideoChunk): string {
  const first = segments[0]!.fromFrame
  return segments
    .map(({ fromFrame }) => Math.max(0, secondsOf(grid, fromFrame - first - 0.25)).toFixed(6))
    .join(',')
}

function outputArgs(
  chunk: VideoChunk,
  { rung, path, label, start }: { rung: Rung; path: string; label: string; start: number },
): string[] {
  const { grid, segments } = chunk
  const frames = segments.reduce((sum, segment) => sum + segment.frames, 0)
  const tuning = tunings[rung.quality]
  return [
    ...['-map', label, '-map_metadata', '-1', '-frames:v', String(frames), '-fps_mode', 'passthrough'],
    ...['-c:v', 'libx264', '-threads', '1', '-preset', 'veryfast', '-profile:v', 'high'],
    ...['-crf', tuning.crf, '-x264-params', tuning.parameters],
    ...['-maxrate', `${rung.maxKbps}k`, '-bufsize', `${2 * rung.maxKbps}k`],
    // Key frames only at the start of each segment.
    ...['-g', '100000', '-keyint_min', '50000', '-force_key_frames', keyFrameTimes(chunk)],
    ...['-fflags', '+bitexact', '-flags:v', '+bitexact'],
    // Without frag_discont, every chunk would begin at 0. Without cmaf, B-frame reordering would delay the video.
    ...['-video_track_timescale', String(timescaleOf(grid.rate).timescale)],
    ...['-output_ts_offset', start.toFixed(6), '-movflags', 'cmaf+frag_keyframe+frag_discont+skip_trailer'],
    // A complete segment is in the file at once.
    ...['-flush_packets', '1', '-f', 'mp4', path],
  ]
}
