import type { VideoStream } from './probe.ts'

/** The brightness of white paper in HDR (BT.2408), which becomes white in SDR. */
const WHITE_NITS = 203
/** The maximum of PQ. Used if no peak is declared: nothing is clipped, at the cost of 0.2 % of white. */
const PQ_MAX_NITS = 10_000
/** HLG is relative to the display. Its reference white of 75 % is 203 nits on a display of 1,000 nits (BT.2100). */
const HLG_NITS = 1_000

/**
 * Light up to this level (86 % of the signal) is unchanged. Light above it is compressed, so that white ends at 93 % or
 * more. With a lower knee, white becomes gray. With a higher knee, highlights lose detail. See docs/encoding.md.
 */
const KNEE = 0.7

/**
 * The filters that convert HDR to the look of an SDR grade: light relative to white, in BT.709 primaries, with a curve for
 * everything brighter than white. The curve depends on the largest of R, G and B and scales all three equally, which keeps
 * hue and saturation. `desat` is off, because some versions use the coefficients of a matrix that RGB does not have, and
 * the output becomes black.
 *
 * The colors of the input are set here, because many files declare only the transfer function, and zscale does not guess.
 */
export function toneMapping({
  dynamicRange,
  peakNits,
}: Pick<VideoStream, 'dynamicRange' | 'peakNits'>): string[] {
  if (dynamicRange === 'sdr') return []
  const isPq = dynamicRange === 'pq'
  const peak = (isPq ? (peakNits ?? PQ_MAX_NITS) : HLG_NITS) / WHITE_NITS
  const source = `setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc=${isPq ? 'smpte2084' : 'arib-std-b67'}`
  const toLinear = `t=linear:p=bt709:npl=${WHITE_NITS}`
  const toSdr = 't=bt709:m=bt709:r=tv'
  // Without light above white, this simpler filter takes a third of the CPU time.
  if (peak <= 1) return [source, `zscale=p=bt709:${toSdr}:npl=${WHITE_NITS}`]
  return [
    ...[source, `zscale=${toLinear}`, 'format=gbrpf32le'],
    `tonemap=tonemap=mobius:param=${KNEE}:peak=${peak.toFixed(3)}:desat=0`,
    `zscale=${toSdr}`,
  ]
}
