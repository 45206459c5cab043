import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { countSegments } from '../../media/grid.ts'
import type { Tables } from '../../tables.ts'
import { recordEvent } from '../../webhooks/events.ts'
import * as encodings from '../renditions/encoding-store.ts'
import { dropPartialEncoding } from '../renditions/partial.ts'
import { audioRendition, canStart } from '../renditions/playable.ts'
import * as renditions from '../renditions/rendition-store.ts'
import type { ChunkRow, RenditionRow, SegmentsRow } from '../tables.ts'
import * as chunks from './encode-chunk-store.ts'
import { isCopiedQuality } from './schedule.ts'

type Deps = Pick<Context, 'db' | 'queue' | 'now'>

/** A chunk that fails this often makes its quality fail. */
const maxFailures = 3

/** Consecutive segments of one rendition of a chunk. */
export type StoredRendition = Pick<SegmentsRow, 'rendition' | 'sizes' | 'key'> & {
  /** How many segments of the rendition were recorded before, under the same key. */
  position: number
  initialization: { codec: string; bytes: Buffer } | undefined
}

/**
 * Records the next segments of a chunk and updates the encoding's state. Returns the renditions that are not needed.
 * `isLost` means that another worker encodes the chunk, or that the video was deleted.
 */
export function recordSegments(
  deps: Deps,
  chunk: chunks.ClaimedChunk,
  stored: StoredRendition[],
): Promise<{ unneeded: StoredRendition[]; isLost: boolean }> {
  const { video_id, first_segment, track } = chunk
  return deps.db.transaction().execute(async (trx) => {
    const encoding = await encodings.lockEncoding(trx, video_id)
    const locked = encoding && (await chunks.lockChunk(trx, chunk))
    if (!locked) return { unneeded: stored, isLost: true }
    const segments = stored[0]!.sizes.length
    if (segments === locked.segments) await chunks.deleteChunk(trx, chunk)
    else await chunks.advanceChunk(trx, chunk, segments)
    const unneeded: StoredRendition[] = []
    for (const each of stored) {
      const { rendition, sizes, key, position, initialization } = each
      const isNeeded = track === 'sound' || locked.qualities.includes(rendition)
      const row = { video_id, rendition, sizes, key }
      if (isNeeded && position === 0) await renditions.insertSegments(trx, [{ ...row, first_segment }])
      else if (!isNeeded || !(await renditions.appendSegments(trx, row, position))) unneeded.push(each)
      if (isNeeded && initialization)
        await renditions.insertInitialization(trx, { video_id, rendition, ...initialization })
    }
    // Others have waited for this segment.
    if (isStart(chunk, locked, encoding)) await chunks.announceChunks(trx)
    if (locked.first_segment === 0 && (await hasBecomePlayable(trx, encoding, stored)))
      await deps.queue.send(trx, 'make-first-picture', { videoId: video_id })
    await updateState(deps, trx, encoding)
    return { unneeded, isLost: false }
  })
}

function isStart(
  { track }: chunks.ClaimedChunk,
  { qualities, first_segment }: Pick<ChunkRow, 'qualities' | 'first_segment'>,
  { plan }: encodings.Encoding,
): boolean {
  const lowest = plan?.rungs[0]?.quality ?? ''
  return track === 'picture' && first_segment === 0 && qualities.includes(lowest)
}

/** Whether nothing but these renditions was missing for playback. */
async function hasBecomePlayable(
  trx: Transaction<Tables>,
  { video_id, plan, sound_failure }: encodings.Encoding,
  stored: StoredRendition[],
): Promise<boolean> {
  // An upload that is abandoned must leave no picture behind.
  if (!plan || plan.partial) return false
  const begun = await renditions.listBegun(trx, video_id)
  const before = begun.filter((name) => stored.every(({ rendition }) => rendition !== name))
  const wanted = { plan, hasAudio: plan.hasSound && sound_failure === null }
  return canStart(begun, wanted) && !canStart(before, wanted)
}

/**
 * Records that a chunk could not be encoded. First each quality is retried in a chunk of its own, then the chunk is
 * retried. After that, or at once if a retry would be useless, its qualities fail. Undefined if the lease was lost. The
 * beginning of a source never fails: it is encoded again when the source is complete.
 */
export function failChunk(
  deps: Deps,
  chunk: chunks.ClaimedChunk,
  { reason, canRetry }: { reason: string; canRetry: boolean },
): Promise<'retried' | 'failed' | 'dropped' | undefined> {
  const failures = chunk.failures + 1
  return deps.db.transaction().execute(async (trx) => {
    const encoding = await encodings.lockEncoding(trx, chunk.video_id)
    const locked = encoding && (await chunks.lockChunk(trx, chunk))
    if (!locked) return undefined
    if (encoding.plan?.partial) {
      await dropPartialEncoding(deps, trx, chunk.video_id)
      await deps.queue.send(trx, 'give-up-early', { videoId: chunk.video_id })
      return 'dropped'
    }
    const { qualities } = locked
    if (chunk.track === 'picture' && qualities.length > 1 && canRetry) {
      await splitChunk(trx, encoding, { ...chunk, ...locked, failures })
      return 'retried'
    }
    if (failures < maxFailures && canRetry) {
      await chunks.releaseChunk(trx, chunk, { afterMs: 1_000 * 2 ** failures, failures })
      return 'retried'
    }
    await chunks.deleteChunk(trx, chunk)
    const failed =
      chunk.track === 'sound'
        ? await failAudio(trx, encoding, reason)
        : await failQualities(trx, encoding, { qualities, reason })
    await updateState(deps, trx, failed)
    return 'failed'
  })
}

/** One quality may be the cause. The others are encoded without it. */
async function splitChunk(
  trx: Transaction<Tables>,
  encoding: encodings.Encoding,
  chunk: chunks.ClaimedChunk,
): Promise<void> {
  const { track, first_segment, segments, priority, failures } = chunk
  await chunks.deleteChunk(trx, chunk)
  const parts = chunk.qualities.map((quality) => ({
    track,
    first_segment,
    segments,
    priority,
    failures,
    qualities: [quality],
  }))
  await chunks.insertChunks(trx, encoding, parts)
  await chunks.announceChunks(trx)
}

async function failAudio(
  trx: Transaction<Tables>,
  encoding: encodings.Encoding,
  reason: string,
): Promise<encodings.Encoding> {
  await chunks.deleteAudioChunks(trx, encoding.video_id)
  await encodings.updateEncoding(trx, encoding.video_id, { sound_failure: reason })
  return { ...encoding, sound_failure: reason }
}

async function failQualities(
  trx: Transaction<Tables>,
  encoding: encodings.Encoding,
  { qualities, reason }: { qualities: string[]; reason: string },
): Promise<encodings.Encoding> {
  const { video_id } = encoding
  const failed = { state: 'failed', failure: reason } as const
  for (const quality of qualities) {
    await chunks.removeQuality(trx, video_id, quality)
    await renditions.deleteSegments(trx, video_id, quality)
    await renditions.updateRendition(trx, { video_id, type: 'hls', quality }, failed)
  }
  return encoding
}

/**
 * Updates the state of qualities and of the encoding to what is encoded now. Qualities complete from the lowest to the
 * highest, each with its event. A copied quality does not wait for the others. The MP4 is made after the last one.
 */
async function updateState(
  deps: Deps,
  trx: Transaction<Tables>,
  encoding: encodings.Encoding,
): Promise<void> {
  const { video_id, plan } = encoding
  // Nothing is complete before the source is.
  if (!plan || plan.partial) return
  const total = countSegments(plan)
  const counts = await renditions.countSegments(trx, video_id)
  const isAudioDone =
    !plan.hasSound || encoding.sound_failure !== null || counts.get(audioRendition) === total
  // All qualities may have completed before: a retry can encode the audio alone.
  if (!isAudioDone) return
  const all = await renditions.listRenditions(trx, video_id)
  const streams: RenditionRow[] = []
  let mustWait = false
  for (const stream of all.filter(({ type }) => type === 'hls')) {
    const isEncoded = !renditions.hasEnded(stream) && counts.get(stream.quality) === total
    const completes = isEncoded && (!mustWait || isCopiedQuality(plan, stream.quality))
    streams.push(completes ? await completeQuality(deps, trx, encoding, stream) : stream)
    mustWait ||= !renditions.hasEnded(streams.at(-1)!)
  }
  if (mustWait) return
  await endEncoding(deps, trx, encoding, { streams, mp4: all.find(({ type }) => type === 'mp4') })
}

async function completeQuality(
  { now }: Deps,
  trx: Transaction<Tables>,
  { video_id, environment }: encodings.Encoding,
  stream: RenditionRow,
): Promise<RenditionRow> {
  await renditions.updateRendition(trx, stream, { state: 'encoded' })
  const payload = { videoId: video_id, encoding: 'hls', quality: stream.quality } as const
  await recordEvent(trx, environment, 'video.encoding.quality.completed', payload, now())
  return { ...stream, state: 'encoded' }
}

async function endEncoding(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  { video_id }: encodings.Encoding,
  { streams, mp4 }: { streams: RenditionRow[]; mp4: RenditionRow | undefined },
): Promise<void> {
  const isPlayable = streams.some(({ state }) => state === 'encoded')
  const failure = isPlayable ? null : (streams[0]?.failure ?? null)
  const state = isPlayable ? 'encoded' : 'failed'
  await encodings.updateEncoding(trx, video_id, { state, failure, finished_at: now() })
  if (mp4 && !isPlayable) await renditions.updateRendition(trx, mp4, { state, failure })
  await queue.send(trx, 'finish-encoding', { videoId: video_id })
  if (isPlayable) await queue.send(trx, 'make-pictures', { videoId: video_id })
}
