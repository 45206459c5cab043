import { availableParallelism } from 'node:os'
import type { H264Config } from '../../../media/h264.ts'
import { ladderOf } from '../../../media/ladder.ts'
import { topQuality } from '../../state/qualities.ts'

export type LiveRung = { quality: string; width: number; height: number; maxKbps: number }

type Source = Pick<H264Config, 'width' | 'height'>

export const maxFrameRate = 60
const maxEncodedSide = 1080

/** The qualities to encode, the lowest first: those below the size of the source, and the source's own if asked for. */
export function liveRungs(source: Source, frameRate: number, withTop: boolean): LiveRung[] {
  const rate = { num: Math.round(1000 * Math.min(frameRate, maxFrameRate)), den: 1000 }
  const ladder = ladderOf(source, rate)
  const side = Math.min(source.width, source.height)
  const sideOf = (quality: string) => Number.parseInt(quality, 10)
  const lower = ladder.filter(({ quality }) => sideOf(quality) < side && sideOf(quality) <= maxEncodedSide)
  if (!withTop) return lower
  const nearest = ladder.at(-1)!
  const size = { width: even(source.width), height: even(source.height) }
  const factor = (size.width * size.height) / (nearest.width * nearest.height)
  return [...lower, { quality: topQuality, ...size, maxKbps: Math.round(nearest.maxKbps * factor) }]
}

/** H.264 with 4:2:0 needs even sizes. */
const even = (size: number) => size - (size % 2)

/**
 * Decoding, scaling and encoding one megapixel per second, measured with the arguments of `ladderArgs` on a Neoverse N1:
 * 720p at 30 frames takes 0.48 of a core with 480p, 360p and 240p, and 0.74 with its own size in addition.
 */
const coresPerMegapixel = 0.01

/** An estimate of the cores that a ladder takes. Once it runs, its real cost is measured. */
export function coresOf(source: Source, rungs: LiveRung[], frameRate: number): number {
  const megapixels = ({ width, height }: Source) => (width * height) / 1e6
  const encoded = rungs.reduce((sum, rung) => sum + megapixels(rung), 0)
  return coresPerMegapixel * (megapixels(source) * frameRate + encoded * Math.min(frameRate, maxFrameRate))
}

/** ffmpeg decodes, scales and encodes one after the other. Without threads, all of it has to fit into one core. */
const coresPerThread = 0.6
const maxThreads = 4

/** Each thread adds a frame of delay and splits frames into more slices, so cheap ladders have one. */
export const threadsFor = (cores: number) =>
  Math.max(1, Math.min(maxThreads, availableParallelism(), Math.ceil(cores / coresPerThread)))

/** The lower qualities of a ladder, as many as the cores allow. */
export function rungsWithin(cores: number, source: Source, rungs: LiveRung[], frameRate: number): LiveRung[] {
  const fitting = rungs.findLastIndex((_, i) => coresOf(source, rungs.slice(0, i + 1), frameRate) <= cores)
  return rungs.slice(0, fitting + 1)
}
