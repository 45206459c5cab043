import { type LiveRung, maxFrameRate } from './rungs.ts'

/** Where the encoded qualities have key frames: where the source has them, or at regular intervals. */
export type KeyFrames = 'source' | 'regular'

const keyFrameSeconds = 2

export type LadderSettings = {
  /** From the lowest quality to the highest. */
  rungs: LiveRung[]
  keyFrames: KeyFrames
  frameRate: number
  threads: number
}

/** The options of the outputs. Output `n` writes to `pipe:{3 + n}`. */
export const ladderArgs = (settings: LadderSettings) => [
  ...['-filter_complex_threads', `${settings.threads}`, '-filter_complex', filterGraph(settings.rungs)],
  ...settings.rungs.flatMap((rung, i) => [
    ...['-map', `[out${i}]`, ...rungArgs(rung, settings)],
    ...['-f', 'flv', `pipe:${3 + i}`],
  ]),
]

/**
 * Each size is scaled from the next larger one. For 1080p with four lower qualities, this takes a quarter of the time of
 * scaling each from the source, which would be more than half of all the work.
 */
function filterGraph(rungs: LiveRung[]): string {
  const chains = rungs.map(({ width, height }, i) => {
    const isTop = i === rungs.length - 1
    const before = isTop ? `[0:v]${limitFrameRate},` : `[larger${i}]`
    const scale = `scale=${width}:${height}:out_range=tv,format=yuv420p`
    const after = i === 0 ? `[out${i}]` : `,split=2[out${i}][larger${i - 1}]`
    return `${before}${scale}${after}`
  })
  return chains.toReversed().join(';')
}

function rungArgs({ maxKbps }: LiveRung, { keyFrames, frameRate, threads }: LadderSettings): string[] {
  const forced =
    keyFrames === 'source'
      ? 'source'
      : `expr:isnan(prev_forced_t)+gte(t-prev_forced_t,${keyFrameSeconds}-0.001)`
  return [
    // With the time base of the input, key frames keep their times exactly.
    ...['-fps_mode', 'passthrough', '-c:v', 'libx264', '-enc_time_base', '-1', '-threads', `${threads}`],
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
