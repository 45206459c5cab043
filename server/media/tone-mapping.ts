import type { Picture } from './probe.ts'

/** What white paper has in an HDR picture (BT.2408), and so what becomes white on an ordinary screen. */
const WHITE_NITS = 203
/** PQ cannot be brighter. For want of a declared peak nothing is clipped, at the price of 0.2 % of white. */
const PQ_MAX_NITS = 10_000
/** HLG is relative to the display. Its reference white of 75 % is 203 nits on one of 1,000 (BT.2100). */
const HLG_NITS = 1_000

/**
 * Light up to here (86 % of the signal) is left as it is, and compressed above, so that white ends at 93 % or more.
 * With a lower knee white becomes grey; with a higher one highlights run together. docs/encoding.md has the figures.
 */
const KNEE = 0.7

/**
 * The filters that turn HDR into what an SDR grade of it would look like: light relative to white, in BT.709
 * primaries, with a curve for what is brighter than white. The curve goes by the largest of R, G and B and scales all
 * three alike, which keeps hue and saturation. `desat` stays off: some versions take the coefficients of a matrix that
 * RGB does not have, and the picture turns black.
 *
 * The colours of the input are set here, because files that declare the transfer alone are common, and zscale refuses
 * to guess.
 */
export function toneMapping({
  dynamicRange,
  peakNits,
}: Pick<Picture, 'dynamicRange' | 'peakNits'>): string[] {
  if (dynamicRange === 'sdr') return []
  const isPq = dynamicRange === 'pq'
  const peak = (isPq ? (peakNits ?? PQ_MAX_NITS) : HLG_NITS) / WHITE_NITS
  const source = `setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc=${isPq ? 'smpte2084' : 'arib-std-b67'}`
  const toLinear = `t=linear:p=bt709:npl=${WHITE_NITS}`
  const toSdr = 't=bt709:m=bt709:r=tv'
  // Nothing is brighter than white: a third of the CPU.
  if (peak <= 1) return [source, `zscale=p=bt709:${toSdr}:npl=${WHITE_NITS}`]
  return [
    ...[source, `zscale=${toLinear}`, 'format=gbrpf32le'],
    `tonemap=tonemap=mobius:param=${KNEE}:peak=${peak.toFixed(3)}:desat=0`,
    `zscale=${toSdr}`,
  ]
}
