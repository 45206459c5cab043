import type { Rational } from './probe.ts'

export const qualities = ['240p', '360p', '480p', '720p', '1080p', '2160p'] as const
export type Quality = (typeof qualities)[number]

export type Rung = { quality: Quality; width: number; height: number; maxKbps: number }

/** The most that a quality may take for 30 frames a second of 16:9; more frames or a longer side get more. */
const maxKbps: Record<Quality, number> = {
  '240p': 550,
  '360p': 1_000,
  '480p': 1_600,
  '720p': 3_200,
  '1080p': 6_500,
  '2160p': 20_000,
}

/** What decoders of level 5.1 take in one frame. */
const mostMacroblocks = 36_864

const shorterSide = (quality: Quality) => Number.parseInt(quality, 10)

/** The nearest even size that is not larger than the source's. */
const even = (n: number, most: number) =>
  Math.max(2, Math.min(2 * Math.round(n / 2), 2 * Math.floor(most / 2)))

/** Every quality up to the source's own, the lowest first. The shorter side decides; nothing is made larger. */
export function ladderOf({ width, height }: { width: number; height: number }, rate: Rational): Rung[] {
  const shorter = Math.min(width, height)
  const fit = qualities.filter((quality) => shorterSide(quality) <= shorter)
  if (fit.length === 0) return [rungOf('240p', width, height, 1, rate)]
  return fit.map((quality) => rungOf(quality, width, height, shorterSide(quality) / shorter, rate))
}

function rungOf(quality: Quality, width: number, height: number, scale: number, rate: Rational): Rung {
  const size = { width: even(width * scale, width), height: even(height * scale, height) }
  const blocks = Math.ceil(size.width / 16) * Math.ceil(size.height / 16)
  if (blocks > mostMacroblocks) {
    return rungOf(quality, width, height, scale * Math.sqrt(mostMacroblocks / blocks) * 0.99, rate)
  }
  const side = shorterSide(quality)
  const pixels = (size.width * size.height) / (side * side * (16 / 9))
  const frames = rate.num / rate.den / 30
  // Twice the frames differ less from each other than frames at half the rate do.
  const factor = Math.max(0.5, pixels) * Math.max(0.5, frames > 1 ? frames ** 0.6 : frames)
  return { quality, ...size, maxKbps: Math.round(maxKbps[quality] * factor) }
}
