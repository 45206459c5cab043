import { type Grid, secondsOf, segmentFrames, timescaleOf } from './grid.ts'
import type { Quality, Rung } from './ladder.ts'
import type { Picture } from './probe.ts'
import { toneMapping } from './tone-mapping.ts'

/** What the frames of a chunk are made of: a stream of a file, or a still picture where there is only sound. */
export type PictureInput =
  | {
      path: string
      /** What the file may make ffmpeg do. */
      options: string[]
      picture: Pick<Picture, 'index' | 'isInterlaced' | 'isTurned' | 'dynamicRange' | 'peakNits'>
      /** Where in the source the grid begins. */
      offsetSeconds: number
    }
  | 'still'

export type PictureChunk = {
  input: PictureInput
  grid: Grid
  fromFrame: number
  frames: number
  segments: number
  /** The lowest first. */
  outputs: { rung: Rung; path: string }[]
  /** An image over the picture. */
  watermark: string | undefined
  canToneMap: boolean
}

/**
 * How long before its first frame a chunk begins to decode. A key frame may be shown later than frames that follow
 * it in the file; those cannot be decoded from there on, so one further back is needed.
 */
const leadFrames = 8
const mostLeadSeconds = 1

const stillColour = '0x1f2430'

/** One decode, each quality into a file of its own with a fragment for each segment. */
export function pictureArgs(chunk: PictureChunk): string[] {
  const { grid, input, outputs, watermark } = chunk
  const start = secondsOf(grid, chunk.fromFrame)
  const lead =
    input === 'still'
      ? 0
      : Math.min(mostLeadSeconds, secondsOf(grid, leadFrames), start + input.offsetSeconds)
  return [
    ...quiet,
    ...(input === 'still' ? stillInput(chunk) : fileInput(input, start + input.offsetSeconds - lead)),
    ...(watermark === undefined ? [] : ['-f', 'png_pipe', '-i', watermark]),
    ...['-filter_complex_threads', '1', '-filter_complex', pictureGraph(chunk, lead)],
    ...outputs.flatMap(({ rung, path }, i) => pictureOutput(chunk, rung, i, start, path)),
  ]
}

const quiet = ['-hide_banner', '-nostdin', '-y', '-loglevel', 'error']

function fileInput({ path, options, picture }: Exclude<PictureInput, 'still'>, seconds: number): string[] {
  // Not to the frame: what comes before is needed to know what is shown at the start, and dropped by the grid.
  const seek = seconds > 0 ? ['-noaccurate_seek', '-ss', seconds.toFixed(6)] : []
  // A picture that changes its size (a browser's recording of a window) would make ffmpeg begin with new filters,
  // and these count time anew. Without that, `scale` takes any size; so do the filters before it, as they look at
  // times alone, unless they turn or deinterlace.
  const isPlain = !picture.isTurned && !picture.isInterlaced
  return [...options, ...(isPlain ? ['-reinit_filter', '0'] : []), ...seek, '-i', path]
}

function stillInput({ grid, outputs }: PictureChunk): string[] {
  const { width, height } = outputs.at(-1)!.rung
  return [
    '-f',
    'lavfi',
    '-i',
    `color=c=${stillColour}:s=${width}x${height}:r=${grid.rate.num}/${grid.rate.den}`,
  ]
}

function pictureGraph({ input, grid, outputs, watermark, canToneMap }: PictureChunk, lead: number): string {
  const isFile = input !== 'still'
  const top = outputs.at(-1)!.rung
  const { num, den } = grid.rate
  const steps = [
    ...(isFile && input.picture.isInterlaced ? ['bwdif=mode=send_frame:deint=interlaced'] : []),
    // The frame that is shown at each point of the grid, by timestamps. The last one stays to the end, also where
    // the picture was over before the chunk begins; the first one is there from the start.
    `setpts=round(PTS-${lead.toFixed(6)}/TB)`,
    `fps=fps=${num}/${den}:round=near`,
    'tpad=stop=-1:stop_mode=clone',
    `fps=fps=${num}/${den}:start_time=0`,
    `scale=${top.width}:${top.height}:out_range=tv`,
    'setsar=1',
    ...(isFile && canToneMap ? toneMapping(input.picture) : []),
    'format=yuv420p',
  ]
  const from = isFile ? `[0:${input.picture.index}]` : '[0:v]'
  const chains = [`${from}${steps.join(',')}[all]`]
  if (watermark !== undefined) {
    const width = Math.round(top.width * 0.3)
    const margin = Math.round(top.width * 0.03)
    chains.push(`[1:v]scale=${width}:-1[mark]`)
    chains.push(`[all][mark]overlay=x=W-w-${margin}:y=${margin}:format=yuv420[marked]`)
  }
  // All from the largest: from one another they lose sharpness (SSIM 0.003 less at 360p), and save nothing.
  const lower = outputs.slice(0, -1)
  const copies = lower.map((_, i) => `[c${i}]`).join('')
  const whole = watermark === undefined ? '[all]' : '[marked]'
  chains.push(`${whole}split=${outputs.length}${copies}[v${lower.length}]`)
  for (const [i, { rung }] of lower.entries()) chains.push(`[c${i}]scale=${rung.width}:${rung.height}[v${i}]`)
  return chains.join(';')
}

type Tuning = { crf: string; parameters: string }

/**
 * What gives more for less than the preset: B-frames in a fixed pattern instead of one that is searched for, a coarse
 * search for motion, and bits spread more evenly; in larger pictures also to look further ahead, and not to divide
 * blocks. With as much SSIM as the preset with 16 B-frames and key frames every 2 s (CRF 23): 0.8 to 1 of the bytes in
 * 0.55 to 0.7 of the time. Of 4K, what is ahead would take a gigabyte of memory.
 */
const fixed = 'b-adapt=0:me=dia'
const ahead = `${fixed}:aq-mode=2:aq-strength=0.6:rc-lookahead=40:partitions=i4x4,i8x8`
const small = { crf: '20.5', parameters: `${fixed}:bframes=5:subme=1:aq-strength=0.7:qcomp=0.5` }
const medium = { crf: '22.7', parameters: `${ahead}:bframes=5:subme=1` }
const large = { crf: '22', parameters: `${ahead}:bframes=3:subme=2` }
const huge = { crf: '20.7', parameters: `${fixed}:bframes=5:subme=2:aq-strength=0.6` }

const tunings: Record<Quality, Tuning> = {
  '240p': small,
  '360p': small,
  '480p': medium,
  '720p': large,
  '1080p': large,
  '2160p': huge,
}

function pictureOutput(
  { grid, frames, segments }: PictureChunk,
  { quality, maxKbps }: Rung,
  i: number,
  start: number,
  path: string,
): string[] {
  const distance = segmentFrames(grid.rate)
  const tuning = tunings[quality]
  return [
    ...['-map', `[v${i}]`, '-map_metadata', '-1', '-frames:v', String(frames), '-fps_mode', 'passthrough'],
    ...['-c:v', 'libx264', '-threads', '1', '-preset', 'veryfast', '-profile:v', 'high'],
    ...['-crf', tuning.crf, '-x264-params', tuning.parameters],
    ...['-maxrate', `${maxKbps}k`, '-bufsize', `${2 * maxKbps}k`],
    // A key frame at the start of each segment and nowhere else; the last one may be longer than the others.
    ...['-g', '100000', '-keyint_min', '50000'],
    ...['-force_key_frames', `expr:lt(n_forced,${segments})*gte(n,n_forced*${distance})`],
    ...['-fflags', '+bitexact', '-flags:v', '+bitexact'],
    // Without frag_discont every chunk would begin at 0; without cmaf the picture would be late by the reordering.
    ...['-video_track_timescale', String(timescaleOf(grid.rate).timescale)],
    ...['-output_ts_offset', start.toFixed(6), '-movflags', 'cmaf+frag_keyframe+frag_discont+skip_trailer'],
    ...['-f', 'mp4', path],
  ]
}

/** Puts encoded tracks together without encoding, with the index in front: it can be played while it comes. */
export function mp4Args(files: { picture: string; sound: string | undefined; output: string }): string[] {
  const { picture, sound, output } = files
  return [
    ...quiet,
    ...['-i', picture, ...(sound === undefined ? [] : ['-i', sound])],
    ...['-map', '0:v', ...(sound === undefined ? [] : ['-map', '1:a'])],
    ...['-c', 'copy', '-fflags', '+bitexact', '-movflags', '+faststart', '-f', 'mp4', output],
  ]
}
