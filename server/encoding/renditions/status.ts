import { hash } from 'node:crypto'
import type { Db } from '../../lib/db.ts'
import { countSegments, secondsOf } from '../../media/grid.ts'
import type { Tables } from '../../tables.ts'
import type { VideoOverview } from '../../videos/parts.ts'
import type { VideoStatus } from '../../videos/status-schemas.ts'
import type { EncodingPlan } from '../tables.ts'
import { checkPlayable } from './playable.ts'
import { type EncodingProgress, findProgress, listOverviews } from './playable-store.ts'

export async function findEncodingStatus(db: Db<Tables>, videoId: string): Promise<VideoStatus['encoding']> {
  const progress = await findProgress(db, videoId)
  const failure = progress?.failure
  return {
    playable: progress !== undefined && checkPlayable(progress).state === 'ready',
    qualities: progress?.renditions.length
      ? viewQualities(progress)
      : // The API has no field for an unusable file. A failed quality makes clients stop waiting.
        failure != null
        ? [{ type: 'hls', quality: '240p', status: 'failed', failure }]
        : [],
    metadata: viewMedia(progress ?? { media: null, plan: null }),
  }
}

/** What lists show of these videos, by video. */
export async function findOverviews(db: Db<Tables>, videoIds: string[]): Promise<Map<string, VideoOverview>> {
  const rows = await listOverviews(db, videoIds)
  return new Map(
    rows.map((row) => {
      const { id, videoState: state, failure, plan: grid, sprites, thumbnailKey } = row
      const playable = checkPlayable(row).state === 'ready'
      const { duration, width, height } = viewMedia(row)
      const hasFailed = state === 'failed' && failure !== null
      // A file never changes under its key.
      const thumbnailVersion = thumbnailKey && hash('sha256', thumbnailKey, 'hex').slice(0, 16)
      const status = {
        ...{ state, playable, duration, width, height, thumbnailVersion },
        ...(hasFailed && { failure }),
      }
      return [id, { status, grid, sprites }]
    }),
  )
}

function viewQualities({
  plan,
  renditions,
  segmentCounts,
}: EncodingProgress): VideoStatus['encoding']['qualities'] {
  const total = plan ? countSegments(plan) : 0
  return renditions.map(({ type, quality, state, failure }) => {
    const segments = type === 'hls' ? segmentCounts[quality] : undefined
    const done = segments ? (100 * segments * (plan?.partial?.share ?? 1)) / total : 0
    const progress = state === 'encoded' ? 100 : Math.floor(Math.min(done, plan?.partial ? 99 : 100))
    return { type, quality, status: state, progress, ...(failure !== null && { failure }) }
  })
}

function viewMedia({
  media,
  plan,
}: Pick<EncodingProgress, 'media' | 'plan'>): VideoStatus['encoding']['metadata'] {
  const { picture, sound } = media ?? {}
  const rounded = (n: number | undefined) => (n === undefined ? null : Math.round(n))
  return {
    width: rounded(picture?.width),
    height: rounded(picture?.height),
    bitrate: rounded(media?.bitrateKbps),
    // That of what viewers get: the source may be longer than the clip, or than the sandbox allows.
    duration: rounded(plan ? totalSecondsOf(plan) : media?.durationSeconds),
    framerate: rounded(picture?.sourceRate),
    samplerate: rounded(sound?.sampleRate),
    videoCodec: picture?.codec ?? null,
    audioCodec: sound?.codec ?? null,
    aspectRatio: picture ? aspectRatio(picture) : null,
  }
}

/** Undefined if it is not known before the source is complete. */
export const totalSecondsOf = (plan: EncodingPlan): number | undefined =>
  plan.partial ? (plan.partial.totalSeconds ?? undefined) : secondsOf(plan, plan.frames)

const commonRatios = [
  [16, 9],
  [9, 16],
  [4, 3],
  [3, 4],
  [1, 1],
] as const

/** Rounded to common ratios: 854 x 480 is 16/9. */
function aspectRatio({ width, height }: { width: number; height: number }): string {
  const common = commonRatios.find(([x, y]) => Math.abs((width * y) / (height * x) - 1) < 0.01)
  if (common) return common.join('/')
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  const shared = divisor(Math.round(width), Math.round(height))
  return `${Math.round(width) / shared}/${Math.round(height) / shared}`
}
