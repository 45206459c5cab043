import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { blameOf, explain, isFinalAfter } from '../../media/failure.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { alignGrid, boundRate, makeGrid } from '../../media/grid.ts'
import type { Size } from '../../media/images.ts'
import { ladderOf } from '../../media/ladder.ts'
import { type Rational, Unreadable } from '../../media/probe.ts'
import { secondsOfTimecode } from '../../media/timecode.ts'
import { placeWatermark } from '../../media/watermark.ts'
import type { Tables } from '../../tables.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { isReceiving, setVideoSize } from '../../videos/store.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import type { Clip, VideoRow, VideoWatermark } from '../../videos/tables.ts'
import * as chunks from '../chunks/encode-chunk-store.ts'
import { listWork } from '../chunks/schedule.ts'
import { causeOf, encodingFailures } from '../metrics.ts'
import * as encodings from '../renditions/encoding-store.ts'
import { dropPartialEncoding } from '../renditions/partial.ts'
import { insertRenditions } from '../renditions/rendition-store.ts'
import { openFileBytes } from '../source/source-bytes.ts'
import type { EncodingPlan, RenditionRow } from '../tables.ts'
import { continuePartial } from './continue-partial.ts'
import { type AcceptsMp4, type ExaminedSource, endOf, examine } from './examine.ts'
import { mayBeCopied, planCopies, planCopiesFrom } from './plan-copies.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics' | 'space'> & {
  tools: Tools
}

/** The image shown for a source without video. A low frame rate is enough, because nothing moves. */
const still = { width: 426, height: 240, rate: { num: 10, den: 1 } }
/** A longer duration comes from wrong timestamps. */
const maxSeconds = 7 * 86_400

/**
 * Examines a received source and creates the chunks of its encoding. What was encoded before the source was complete stays.
 * Idempotent.
 */
export async function planEncoding(deps: Deps, { videoId }: { videoId: string }, retries = 0): Promise<void> {
  const { db, log, metrics, now } = deps
  const video = await encodings.findVideo(db, videoId)
  if (!video) {
    await removeIfDeleted(deps, videoId)
    return
  }
  const earlier = await encodings.findEncoding(db, videoId)
  if (earlier && !earlier.plan?.partial) return
  // Another file is replacing the one that was to be examined.
  if (await isReceiving(db, videoId)) return
  const { environment, mp4_support: hasMp4 } = video
  try {
    const planned = { ...video, recordedSize: recordedSizeOf(video) }
    const source = await examine(deps, videoId, acceptMp4(deps, planned))
    const encoded = makePlan(deps, source, planned)
    const plan = {
      ...(await planCopies(deps, source, encoded, video)),
      revision: await encodings.findRevision(db, videoId),
    }
    const durationSeconds = source.media.durationSeconds ?? endOf(source.media, source.extent)
    const media = { ...source.media, durationSeconds }
    await db.transaction().execute(async (trx) => {
      // Before the row is locked for sharing: two jobs that both share it could not update it.
      await setVideoSize(trx, videoId, plan.rungs.at(-1)!)
      const is_paused = (await lockDiscardState(trx, videoId))?.isDiscarded ?? false
      if (await continuePartial(deps, trx, videoId, { plan, media, is_paused })) return
      // The revision counts the partial encoding that was deleted.
      const revised = { ...plan, revision: await encodings.findRevision(trx, videoId) }
      const row = { video_id: videoId, environment, media, plan: revised, created_at: now() }
      await beginEncoding(trx, row, { hasMp4, is_paused })
    })
  } catch (thrown) {
    // The video may have been deleted before the copy of its source was stored.
    if (await removeIfDeleted(deps, videoId)) return
    const error = await explainMissing(deps, thrown)
    // Errors caused by the file are `Unreadable`. Other errors of ffprobe mean that it could not fetch the source.
    const isFinal = isFinalAfter(error, retries) && blameOf(error) === 'environment'
    if (!(error instanceof Unreadable) && !isFinal) throw error
    const failure = isFinal ? explain(error) : error.message
    log.info({ videoId, reason: failure, err: isFinal ? error : error.cause }, 'a source cannot be read')
    const row = { video_id: videoId, environment, state: 'failed', failure } as const
    await db.transaction().execute(async (trx) => {
      await dropPartialEncoding(deps, trx, videoId)
      const empty = { media: null, plan: null, created_at: now() }
      const isNew = await encodings.insertEncoding(trx, { ...row, ...empty })
      if (isNew) await deps.queue.send(trx, 'finish-encoding', { videoId })
    })
    metrics.count(encodingFailures, { step: 'plan', cause: causeOf(error) })
  }
}

/** Inserts an encoding with everything that is to be encoded. Does nothing if the video has one. */
export async function beginEncoding(
  trx: Transaction<Tables>,
  row: Pick<encodings.Encoding, 'video_id' | 'environment' | 'media' | 'created_at'> & { plan: EncodingPlan },
  { hasMp4, is_paused }: { hasMp4: boolean; is_paused: boolean },
): Promise<void> {
  if (!(await encodings.insertEncoding(trx, { ...row, state: 'encoding', failure: null }))) return
  const { video_id, plan } = row
  await insertRenditions(trx, listRenditions(video_id, plan, hasMp4))
  const work = listWork(plan).map((chunk) => ({ ...chunk, is_paused }))
  await chunks.insertChunks(trx, row, work)
  await chunks.announceChunks(trx)
}

/** Accepts a copy as MP4 if no audio has to be encoded from it: its times may be rounded to milliseconds. */
export const acceptMp4 =
  (
    deps: Parameters<typeof makePlan>[0] & Parameters<typeof mayBeCopied>[0],
    video: PlannedVideo,
  ): AcceptsMp4 =>
  async (found, path) => {
    const source = { ...found, key: path ?? '' }
    const plan = makePlan(deps, source, video)
    if (path === undefined) return mayBeCopied(deps, source, plan, video)
    const copied = await planCopiesFrom(deps, () => openFileBytes(path), source, plan, video)
    return copied.copiesVideo === true && (copied.copiesAudio === true || !copied.hasSound)
  }

/** A broadcast may change its size, and then its recording is created with the largest one. */
const recordedSizeOf = ({
  source_type,
  width,
  height,
}: Pick<VideoRow, 'source_type' | 'width' | 'height'>): Size | undefined =>
  source_type === 'liveStream' && width !== null && height !== null ? { width, height } : undefined

export type PlannedVideo = {
  environment: string
  clip: Clip | null
  watermark: VideoWatermark | null
  recordedSize?: Size | undefined
}

export function makePlan(
  { config }: { config: Pick<Context['config'], 'sandbox'> },
  { key, bytes, media, extent, content }: ExaminedSource,
  { environment, clip, watermark, recordedSize }: PlannedVideo,
): EncodingPlan {
  const isSandbox = environment === 'sandbox'
  const { picture: video, sound: audio } = media
  const end = endOf(media, extent)
  if (end > maxSeconds)
    throw new Unreadable(
      `The file states a duration of ${Math.round(end / 3_600)} hours, which is not plausible.`,
    )
  const { rate: sourceRate, ...probedSize } = video ?? still
  const size = video && recordedSize ? recordedSize : probedSize
  const rate = video && content ? boundRate(sourceRate, end, content) : sourceRate
  const { fromSeconds: clipStart, toSeconds } = readClip(clip, { end, rate })
  const fromSeconds = video ? alignGrid(rate, clipStart, extent.videoStartSeconds ?? 0) : clipStart
  const limit = (isSandbox && config.sandbox.seconds) || Number.POSITIVE_INFINITY
  const seconds = Math.min(toSeconds - fromSeconds, limit)
  const rungs = ladderOf(size, rate)
  return {
    key,
    offsetSeconds: fromSeconds,
    ...makeGrid(rate, seconds),
    rungs: video ? rungs : rungs.slice(0, 1),
    hasSound: audio !== undefined,
    isWatermarked: isSandbox && config.sandbox.hasWatermark,
    ...(recordedSize && { hasSeveralSizes: true }),
    ...(watermark && {
      watermark: {
        area: placeWatermark(watermark.image, watermark.position, size),
        opacity: watermark.opacity,
      },
    }),
    sourceBytes: bytes,
  }
}

/** A clip that contains nothing of the source is ignored. */
function readClip(
  clip: Clip | null,
  { end, rate }: { end: number; rate: Rational },
): { fromSeconds: number; toSeconds: number } {
  const { startTimecode = '0', endTimecode } = clip ?? {}
  const from = secondsOfTimecode(rate, startTimecode)
  const to = endTimecode === undefined ? end : Math.min(end, secondsOfTimecode(rate, endTimecode))
  return from < to ? { fromSeconds: from, toSeconds: to } : { fromSeconds: 0, toSeconds: end }
}

function listRenditions(videoId: string, { rungs }: EncodingPlan, hasMp4: boolean): RenditionRow[] {
  const rendition = (type: 'hls' | 'mp4', quality: string): RenditionRow => ({
    video_id: videoId,
    type,
    quality,
    height: Number.parseInt(quality, 10),
    state: 'waiting',
    failure: null,
    key: null,
    bytes: null,
  })
  const streams = rungs.map(({ quality }) => rendition('hls', quality))
  return hasMp4 ? [...streams, rendition('mp4', rungs.at(-1)!.quality)] : streams
}
