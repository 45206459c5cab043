import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { countSegments, secondsOf } from '../../media/grid.ts'
import { secondsOfTimecode } from '../../media/timecode.ts'
import type { Tables } from '../../tables.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { sourceKey } from '../../videos/files.ts'
import { setVideoSize } from '../../videos/store.ts'
import { continuePartial } from '../plan/continue-partial.ts'
import { cutPlan } from '../plan/partial-plan.ts'
import { acceptMp4, beginEncoding, makePlan, type PlannedVideo } from '../plan/plan.ts'
import { planCopiesFrom } from '../plan/plan-copies.ts'
import * as encodings from '../renditions/encoding-store.ts'
import { type ArrivedFile, openArrivedBytes } from '../source/arrived-file.ts'
import { openSourceBytes } from '../source/source-bytes.ts'
import type { EncodingPlan, PartialPlan } from '../tables.ts'
import { type ExaminedBeginning, examineArrived } from './examine-arrived.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'space'> & { tools: Tools }

export type ArrivedSource = ArrivedFile & {
  /** Whether viewers may watch the video before its source is complete, unless its owner has decided. */
  isPlayable: boolean
  /** Whether these bytes still are part of the source. Locks the source until the end of the transaction. */
  isCurrent(trx: Transaction<Tables>): Promise<boolean>
}

/**
 * Encodes what has arrived of a source. Called again when more has, unless it returns true: then only the complete source has
 * more for the video. Throws `Unreadable`.
 */
export async function encodeArrived(deps: Deps, arrived: ArrivedSource): Promise<boolean> {
  const { db, files } = deps
  const { videoId } = arrived
  const video = await encodings.findVideo(db, videoId)
  const before = await encodings.findEncoding(db, videoId)
  // A file that was lost is uploaded again. What was encoded of it stays until all of it has arrived.
  if (!video || (before && !before.plan?.partial)) return false
  const found = await examineArrived(deps, arrived, acceptMp4(deps, video))
  if (!found) return false
  const copyKey = found.source.key === sourceKey(videoId) ? undefined : found.source.key
  let isUsed = false
  let isLast = false
  try {
    const planned = await planBeginning(deps, arrived, found, video)
    const plan = planned?.plan
    isLast = planned?.isLast ?? false
    const isLonger = plan && countSegments(plan) > (before?.plan ? countSegments(before.plan) : 0)
    if (isLonger) isUsed = await record(deps, arrived, { plan, media: found.source.media }, video)
  } finally {
    if (copyKey !== undefined && !isUsed) await files.remove(copyKey)
  }
  if (await removeIfDeleted(deps, videoId)) return false
  const oldKey = before?.plan?.partial?.oldKey
  if (isUsed && oldKey !== undefined) await files.remove(oldKey)
  return isUsed && isLast
}

/** Undefined if no segment has arrived. `isLast` means that no plan before the source is complete will be longer. */
async function planBeginning(
  deps: Deps,
  arrived: ArrivedSource,
  { source, seconds, hasEnd, isRead, canCopy, ...expected }: ExaminedBeginning,
  video: PlannedVideo,
): Promise<{ plan: EncodingPlan; isLast: boolean } | undefined> {
  const encoded = makePlan(deps, source, video)
  if (startsLater(video, encoded, seconds)) return undefined
  const open = () =>
    isRead ? openArrivedBytes(arrived, source.bytes) : openSourceBytes(deps.files, source.key)
  const plan = canCopy ? await planCopiesFrom(deps, open, source, encoded, video) : encoded
  const cut = cutPlan(plan, seconds, hasEnd)
  if (!cut) return undefined
  const before = (await encodings.findEncoding(deps.db, arrived.videoId))?.plan
  const isCopy = !isRead && before?.partial !== undefined
  const planned = {
    ...cut,
    revision: await encodings.findRevision(deps.db, arrived.videoId),
    partial: {
      isPlayable: arrived.isPlayable,
      handle: arrived.handle,
      ranges: arrived.ranges,
      isRead,
      bytes: expected.bytes,
      ...expectationOf(deps, { plan, cut, source, hasEnd, ...expected }, video),
      ...(isCopy && { oldKey: before.key }),
    },
  }
  // A clip ends earlier than what has arrived, and so does a video of the sandbox.
  const isLimited = plan.offsetSeconds + secondsOf(plan, plan.frames) + 1 < seconds
  const isLast = (hasEnd || isLimited) && countSegments(cut) === countSegments(plan) - 1
  return { plan: planned, isLast }
}

type Expectation = Pick<ExaminedBeginning, 'source' | 'hasEnd' | 'totalSeconds' | 'share'> & {
  plan: EncodingPlan
  cut: EncodingPlan
}

/** The duration of the complete video, and how much of it is planned. It is shorter than its source in the sandbox, and as a clip. */
function expectationOf(
  deps: Pick<Deps, 'config'>,
  { plan, cut, source, hasEnd, totalSeconds, share }: Expectation,
  video: PlannedVideo,
): Pick<PartialPlan, 'totalSeconds' | 'share'> {
  if (!hasEnd && totalSeconds === null) return { totalSeconds, share }
  const extent = { ...source.extent, videoEndSeconds: totalSeconds!, audioEndSeconds: totalSeconds! }
  const complete = hasEnd ? plan : makePlan(deps, { ...source, extent }, video)
  const seconds = secondsOf(complete, complete.frames)
  return { totalSeconds: seconds, share: secondsOf(cut, cut.frames) / seconds }
}

/** A clip that contains nothing of what has arrived would be ignored. */
function startsLater({ clip }: PlannedVideo, { rate }: EncodingPlan, seconds: number): boolean {
  return clip?.startTimecode !== undefined && secondsOfTimecode(rate, clip.startTimecode) >= seconds
}

/** Returns false if the bytes are not part of the source any more, or if it is complete. */
function record(
  deps: Deps,
  { videoId, isCurrent }: ArrivedSource,
  { plan, media }: Pick<encodings.Encoding, 'media'> & { plan: EncodingPlan },
  { environment, mp4_support: hasMp4 }: NonNullable<Awaited<ReturnType<typeof encodings.findVideo>>>,
): Promise<boolean> {
  return deps.db.transaction().execute(async (trx) => {
    // Before the row is locked for sharing: two jobs that both share it could not update it.
    if (!(await encodings.findEncoding(trx, videoId))) await setVideoSize(trx, videoId, plan.rungs.at(-1)!)
    const video = await lockDiscardState(trx, videoId)
    if (!video || !(await isCurrent(trx))) return false
    const is_paused = video.isDiscarded
    if (await continuePartial(deps, trx, videoId, { plan, media: media!, is_paused })) return true
    const revision = await encodings.findRevision(trx, videoId)
    const row = { video_id: videoId, environment, media, plan: { ...plan, revision }, created_at: deps.now() }
    await beginEncoding(trx, row, { hasMp4, is_paused })
    return true
  })
}
