import { type LiveRung, maxFrameRate } from './rungs.ts'

/** Where the encoded qualities have key frames: where the source has them, or at regular intervals. */
export type KeyFrames = 'source' | 'regular'

const keyFrameSeconds = 2

/** The options of the outputs. Output `n` writes to `pipe:{3 + n}`. */
export const ladderArgs = (rungs: LiveRung[], keyFrames: KeyFrames, frameRate: number) =>
  rungs.flatMap((rung, i) => [...rungArgs(rung, keyFrames, frameRate), '-f', 'flv', `pipe:${3 + i}`])

function rungArgs({ width, height, maxKbps }: LiveRung, keyFrames: KeyFrames, frameRate: number): string[] {
  const filters = [limitFrameRate, `scale=${width}:${height}:out_range=tv`, 'format=yuv420p']
  const forced =
    keyFrames === 'source'
      ? 'source'
      : `expr:isnan(prev_forced_t)+gte(t-prev_forced_t,${keyFrameSeconds}-0.001)`
  return [
    ...['-map', '0:v', '-vf', filters.join(','), '-fps_mode', 'passthrough'],
    // With the time base of the input, key frames keep their times exactly.
    ...['-c:v', 'libx264', '-enc_time_base', '-1', '-threads', '1'],
    ...['-preset', 'superfast', '-tune', 'zerolatency'],
    // x264 would take the rate from the source's headers, which may be wrong or missing. Times decide.
    ...['-x264-params', `fps=${Math.round(1000 * Math.min(frameRate, maxFrameRate))}/1000:force-cfr=0`],
    ...['-crf', '23', '-maxrate', `${maxKbps}k`, '-bufsize', `${maxKbps}k`],
    ...['-sc_threshold', '0', '-g', '100000', '-force_key_frames', forced],
    ...['-flush_packets', '1', '-flvflags', 'no_duration_filesize'],
  ]
}

/**
 * Drops frames above the maximum rate. The number of frames that are due grows with time, to at most two, so that jitter of
 * a few milliseconds drops nothing. Key frames are always kept.
 */
const limitFrameRate = [
  `select='st(0,min(2,ld(0)+${maxFrameRate + 1}*(t-ld(1))))`,
  'st(1,t)',
  "if(key+gte(ld(0),1),st(0,ld(0)-1)+10,0)'",
].join(';')
