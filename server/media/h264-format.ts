/** How the frames of an H.264 stream are coded, as its sequence parameter set says. */
export type H264Format = {
  /** `profile_idc`. */
  profile: number
  /** `chroma_format_idc`: 4:0:0, 4:2:0, 4:2:2 or 4:4:4. */
  chroma: number
  bitDepth: number
}

const chromaNames = ['4:0:0', '4:2:0', '4:2:2', '4:4:4']
const chroma420 = 1
/** Baseline, main and high. */
const playedProfiles = [66, 77, 100]

/**
 * The part of a format that phones, televisions and most browsers cannot decode, for a sentence such as "Most devices cannot
 * play …". Undefined if they can, so that the stream does not have to be encoded again.
 */
export function findUnplayable({ profile, chroma, bitDepth }: H264Format): string | undefined {
  if (chroma !== chroma420) return `H.264 with ${chromaNames[chroma] ?? 'unknown'} chroma`
  if (bitDepth !== 8) return `H.264 with ${bitDepth} bits`
  return playedProfiles.includes(profile) ? undefined : `H.264 with profile ${profile}`
}
