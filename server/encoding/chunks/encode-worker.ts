import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import { CachedQuery } from '../../lib/cached-query.ts'
import { leaseMs } from '../../lib/leases.ts'
import { RunError } from '../../lib/run.ts'
import { withWorkFolder } from '../../lib/work.ts'
import { type LeasedWork, startWorkLoop, type WorkLoop } from '../../lib/work-loop.ts'
import { explain, failureOf, isFinal } from '../../media/failure.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { secondsOf, segmentsOf } from '../../media/grid.ts'
import type { Quality } from '../../media/ladder.ts'
import { Unreadable } from '../../media/probe.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import { isTransient } from '../../media/transient-errors.ts'
import { discardFiles } from '../../videos/delete.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import { causeOf, encodedSeconds, encodingFailures, encodingRetries } from '../metrics.ts'
import { findEncoding } from '../renditions/encoding-store.ts'
import { startRenditions } from '../renditions/rendition-store.ts'
import { countSlots } from '../slots.ts'
import type { EncodingPlan } from '../tables.ts'
import { failChunk, recordSegments, type StoredRendition } from './complete-chunk.ts'
import { isCopied } from './copy-chunk.ts'
import { encodeChunk, filesOf, storeSegments } from './encode-chunk.ts'
import {
  type ClaimedChunk,
  claimEncodeChunk,
  hasClaimableChunk,
  releaseChunk,
  releaseExpiredLeases,
  renewLease,
  type VideoWork,
} from './encode-chunk-store.ts'
import type { EncodedRendition } from './encoded-rendition.ts'
import { type Choice, chooseWork, isCopiedQuality, workOf } from './schedule.ts'
import { EncodingSpeed } from './speed.ts'

/** With less free space than this, a failure may be caused by the full disk. */
const minFreeBytes = 16 * 1024 * 1024
/** Limits the retries of a chunk that makes every worker stop. */
const maxLosses = 20
const lostReason = 'Every worker that encoded a part of this video stopped before it had finished.'
/** A chunk whose ffmpeg was killed is retried after 1 s, 2 s, 4 s and so on: a shortage of memory may last. */
const maxRetryAfterMs = 300_000
/** The slots of all processes are counted at most this often. */
const minSlotsMs = 2_000

type WorkerContext = Context & { tools: Tools }
type Job = ClaimedChunk & Pick<Choice, 'decoding'>

/** Encodes chunks, one per slot, as long as there are any. */
export function startEncodeWorker(context: WorkerContext): WorkLoop {
  const { config, db, log, metrics, space } = context
  const speed = new EncodingSpeed()
  const allSlots = new CachedQuery(() => countSlots(db), minSlotsMs)

  const choosing =
    (slots: number) =>
    ({ encoding, waiting, elapsedSeconds, isStarting }: VideoWork) =>
      chooseWork({
        plan: encoding.plan,
        waiting,
        elapsedSeconds,
        isStarting,
        slots,
        sourcePixels: pixelsOf(encoding.media),
        secondsPerWork: speed.secondsPerWork(encoding.video_id),
      })

  const work: LeasedWork<Job> = {
    name: 'chunk',
    concurrency: config.encodeSlots,
    async claim(leaseOwner) {
      // Chunks wait while the disk is almost full.
      if (space.isLow || !(await hasClaimableChunk(db))) return undefined
      await releaseExpiredLeases(db)
      // Behind some poolers, the processes cannot be counted.
      const slots = Math.max(config.encodeSlots, (await allSlots.read()) ?? 0)
      return claimEncodeChunk(db, { leaseOwner, leaseMs, choose: choosing(slots) })
    },
    renew: (chunk) => renewLease(db, chunk, leaseMs),
    async release(chunk, afterMs, error) {
      await releaseChunk(db, chunk, { afterMs })
      if (error !== undefined) metrics.count(encodingRetries, { cause: causeOf(error) })
    },
    run: (chunk, signal) => processChunk(context, chunk, { speed, signal }),
    isTransient,
    fail: (chunk, error) => handleFailure(context, chunk, error),
    detailsOf,
  }
  return startWorkLoop(work, log)
}

const detailsOf = ({ video_id, track, first_segment }: ClaimedChunk) => ({
  videoId: video_id,
  track,
  firstSegment: first_segment,
})

/** A source without video is shown as a still image, which nothing has to be decoded for. */
const pixelsOf = (media: SourceMedia | null) =>
  media?.picture ? media.picture.width * media.picture.height : 0

async function processChunk(
  context: WorkerContext,
  chunk: Job,
  run: { signal: AbortSignal; speed: EncodingSpeed },
): Promise<void> {
  const { config, log } = context
  const start = Date.now()
  try {
    const isEncoded = await withWorkFolder(context, async (folder) => {
      try {
        return await encodeAndRecord(context, chunk, { folder, ...run })
      } catch (error) {
        // Checked before the folder is removed, which frees space.
        throw (await isDiskUsable(config.dataDir)) ? error : diskError(error)
      }
    })
    const { qualities } = chunk
    if (isEncoded) log.debug({ ...detailsOf(chunk), qualities, ms: Date.now() - start }, 'chunk encoded')
  } catch (error) {
    throw await explainMissing(context, error)
  }
}

/** Returns false if the video was deleted. */
async function encodeAndRecord(
  context: WorkerContext,
  chunk: Job,
  { speed, ...run }: { folder: string; signal: AbortSignal; speed: EncodingSpeed },
): Promise<boolean> {
  const { db, files } = context
  if (chunk.losses >= maxLosses) throw new Unreadable(lostReason)
  await startRenditions(db, chunk.video_id, chunk.qualities)
  const encoding = await findEncoding(db, chunk.video_id)
  if (!encoding?.plan || !encoding.media) return false
  const { plan, media } = encoding
  // The sweep removes files that cannot be removed now.
  const discard = (stored: StoredRendition[]) =>
    discardFiles(context, chunk.video_id, filesOf(stored)).catch(() => {})
  const start = performance.now()
  const onSegments = async (encoded: EncodedRendition[]) => {
    try {
      await storeSegments(files, encoded)
    } catch (error) {
      await discard(encoded)
      throw error
    }
    // If this throws, the transaction may have been committed all the same. The files therefore stay.
    const { unneeded, isLost } = await recordSegments(context, chunk, encoded)
    // The video was deleted, another worker has the chunk, or a quality has failed elsewhere.
    await discard(unneeded)
    if (isLost) throw new Error('the lease of the chunk was lost')
    for (const each of encoded) if (!unneeded.includes(each)) countEncoded(context, chunk, plan, each)
  }
  try {
    await encodeChunk(context, { chunk, plan, media, ...run }, onSegments)
  } catch (error) {
    throw (await isReplaced(context, chunk, plan))
      ? new StalePlan('the plan was replaced', { cause: error })
      : error
  }
  if (chunk.track === 'picture' && !isCopiedQuality(plan, chunk.qualities[0])) {
    const { first_segment: firstSegment, segments, qualities } = chunk
    const work = workOf(plan, pixelsOf(media), { qualities, firstSegment, segments })
    speed.record(chunk.video_id, { seconds: (performance.now() - start) / 1_000, work })
  }
  return true
}

/** The file that a partial plan names may be gone when the upload ends, or when the next plan names another one. */
class StalePlan extends Error {}

async function isReplaced(
  { db, files }: WorkerContext,
  { video_id }: ClaimedChunk,
  { partial, key }: EncodingPlan,
): Promise<boolean> {
  if (!partial) return false
  if (partial.isRead && !existsSync(files.pathOfUpload(partial.handle) ?? '')) return true
  const plan = (await findEncoding(db, video_id))?.plan
  return plan?.key !== key || plan.partial === undefined
}

function countEncoded(
  { metrics }: WorkerContext,
  chunk: ClaimedChunk,
  plan: EncodingPlan,
  { rendition, position, sizes }: StoredRendition,
): void {
  const firstSegment = chunk.first_segment + position
  const segments = segmentsOf(plan, { firstSegment, segments: sizes.length })
  const seconds = secondsOf(
    plan,
    segments.reduce((sum, { frames }) => sum + frames, 0),
  )
  const quality = chunk.track === 'sound' ? 'audio' : (rendition as Quality)
  const method = isCopied(chunk, plan) ? 'copied' : 'encoded'
  metrics.count(encodedSeconds, { quality, method }, seconds)
}

/** ffmpeg does not always report a full disk, and can even exit successfully. */
const isDiskUsable = (folder: string): Promise<boolean> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize >= minFreeBytes,
    () => false,
  )

const diskError = (cause: unknown) =>
  Object.assign(new Error('the disk of the data folder is full or unreachable', { cause }), {
    code: 'ENOSPC',
  })

/** Releases the chunk for a retry, or records its failure. */
async function handleFailure(context: WorkerContext, chunk: ClaimedChunk, err: unknown): Promise<void> {
  const { db, log, metrics } = context
  const cause = causeOf(err)
  const details = detailsOf(chunk)
  const losses = chunk.losses + 1
  if (isLoss(err) && !isFinal(err, losses) && !isWorthSplitting(chunk)) {
    log.warn({ err, ...details }, 'ffmpeg was killed or hung, its chunk is retried')
    metrics.count(encodingRetries, { cause })
    const afterMs = Math.min(maxRetryAfterMs, 1_000 * 2 ** chunk.losses)
    return releaseChunk(db, chunk, { afterMs, losses })
  }
  // A limited number of times: the file may be lost.
  if (err instanceof StalePlan) return releaseChunk(db, chunk, { afterMs: 0, losses })
  log.warn({ err, ...details }, 'a chunk could not be encoded')
  const result = await failChunk(context, chunk, { reason: reasonOf(err), canRetry: canRetry(err, chunk) })
  if (result === 'retried') metrics.count(encodingRetries, { cause })
  if (result === 'failed') metrics.count(encodingFailures, { step: 'encode', cause })
}

/** ffmpeg was killed or hung, which counts like the loss of a worker. */
const isLoss = (error: unknown): error is RunError =>
  error instanceof RunError && ['killed', 'stalled'].includes(failureOf(error))

/** A single quality needs less memory than all of them together. */
const isWorthSplitting = ({ losses, qualities }: ClaimedChunk) => losses >= 2 && qualities.length > 1

/** Whether another attempt could end differently. */
function canRetry(error: unknown, { losses }: ClaimedChunk): boolean {
  if (isLoss(error)) return !isFinal(error, losses + 1)
  return !(error instanceof Unreadable) && !(error instanceof RunError && failureOf(error) === 'cpu')
}

/** For the owner of the video. The log has the details. */
function reasonOf(error: unknown): string {
  if (error instanceof Unreadable) return error.message
  return error instanceof RunError ? explain(error) : 'A part of the video could not be encoded.'
}
