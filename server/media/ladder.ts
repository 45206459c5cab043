import type { Rational } from './probe.ts'

export const qualities = ['240p', '360p', '480p', '720p', '1080p', '2160p'] as const
export type Quality = (typeof qualities)[number]

export type Rung = { quality: Quality; width: number; height: number; maxKbps: number }

/** Maximum bitrates for 16:9 at 30 frames per second. A higher rate or a longer side increases them. */
const maxKbps: Record<Quality, number> = {
  '240p': 550,
  '360p': 1_000,
  '480p': 1_600,
  '720p': 3_200,
  '1080p': 6_500,
  '2160p': 20_000,
}

/** The maximum size of a frame in H.264 level 5.1. */
const maxMacroblocks = 36_864

const shorterSide = (quality: Quality) => Number.parseInt(quality, 10)

/** The nearest even number that is not larger than the source's size. */
const even = (n: number, max: number) => Math.max(2, Math.min(2 * Math.round(n / 2), 2 * Math.floor(max / 2)))

/** Every quality up to that of the source, the lowest first. The shorter side decides. Nothing is upscaled. */
export function ladderOf({ width, height }: { width: number; height: number }, rate: Rational): Rung[] {
  const shorter = Math.min(width, height)
  const fit = qualities.filter((quality) => shorterSide(quality) <= shorter)
  const source = { width, height, rate }
  if (fit.length === 0) return [rungOf('240p', source, 1)]
  return fit.map((quality) => rungOf(quality, source, shorterSide(quality) / shorter))
}

type Source = { width: number; height: number; rate: Rational }

function rungOf(quality: Quality, source: Source, scale: number): Rung {
  const { width, height, rate } = source
  const size = { width: even(width * scale, width), height: even(height * scale, height) }
  const blocks = Math.ceil(size.width / 16) * Math.ceil(size.height / 16)
  if (blocks > maxMacroblocks) {
    return rungOf(quality, source, scale * Math.sqrt(maxMacroblocks / blocks) * 0.99)
  }
  const side = shorterSide(quality)
  const pixels = (size.width * size.height) / (side * side * (16 / 9))
  const frames = rate.num / rate.den / 30
  // At twice the rate, consecutive frames differ less, so the bitrate does not have to double.
  const factor = Math.max(0.5, pixels) * Math.max(0.5, frames > 1 ? frames ** 0.6 : frames)
  return { quality, ...size, maxKbps: Math.round(maxKbps[quality] * factor) }
}
