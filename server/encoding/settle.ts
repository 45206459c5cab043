import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import { countSegments, secondsOf } from '../media/grid.ts'
import type { RenditionRow, SegmentsRow } from '../renditions/tables.ts'
import type { Tables } from '../tables.ts'
import { recordEvent } from '../webhooks/events.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'queue' | 'now'>

/** A chunk that fails this often ends its quality. */
const mostFailures = 3

export type Encoded = Pick<SegmentsRow, 'rendition' | 'sizes' | 'key'> & {
  initialization: { codec: string; bytes: Buffer } | undefined
}

/** Notes what was encoded of a chunk, and all that follows from it. The keys of what does not count. */
export function finishChunk(deps: Deps, chunk: store.ClaimedChunk, encoded: Encoded[]): Promise<string[]> {
  const { video_id, first_segment, track } = chunk
  return deps.db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, video_id)
    const wanted = encoding && (await store.findWanted(trx, chunk))
    if (!wanted) return encoded.map(({ key }) => key)
    await store.deleteChunk(trx, chunk)
    const spare: string[] = []
    for (const { rendition, sizes, key, initialization } of encoded) {
      if (track === 'picture' && !wanted.qualities.includes(rendition)) {
        spare.push(key)
        continue
      }
      await store.insertSegments(trx, [{ video_id, rendition, first_segment, sizes, key }])
      if (initialization) await store.insertInitialization(trx, { video_id, rendition, ...initialization })
    }
    if (isBeginningOfLong(chunk, wanted.qualities, encoding))
      await deps.queue.send(trx, 'make-pictures', { videoId: video_id })
    await settle(deps, trx, encoding)
    return spare
  })
}

/**
 * There is something to play, so there should be something to show. Short videos are done before it matters, and then
 * get their pictures from all of it.
 */
function isBeginningOfLong(
  { track, first_segment }: store.ClaimedChunk,
  qualities: string[],
  { plan }: store.Encoding,
): boolean {
  const isLong = plan !== null && secondsOf(plan, plan.frames) > 60
  const lowest = plan?.rungs[0]?.quality ?? ''
  return isLong && track === 'picture' && first_segment === 0 && qualities.includes(lowest)
}

/** A chunk could not be encoded: another try, each quality by itself, or, if that is hopeless, the end of its qualities. */
export function failChunk(
  deps: Deps,
  chunk: store.ClaimedChunk,
  reason: string,
  isHopeless: boolean,
): Promise<void> {
  const { video_id, track } = chunk
  const failures = chunk.failures + 1
  return deps.db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, video_id)
    const wanted = encoding && (await store.findWanted(trx, chunk))
    if (!wanted) return
    const { qualities } = wanted
    if (track === 'picture' && qualities.length > 1 && !isHopeless) {
      // One of them may be to blame, and the others go on without it.
      await store.deleteChunk(trx, chunk)
      const { first_segment, segments, priority } = chunk
      const alone = qualities.map((quality) => ({
        ...{ track, first_segment, segments, priority, failures },
        qualities: [quality],
      }))
      await store.insertChunks(trx, encoding, alone)
      return store.announceChunks(trx)
    }
    if (failures < mostFailures && !isHopeless) {
      return store.returnChunk(trx, chunk, { afterMs: 1_000 * 2 ** failures, failures })
    }
    await store.deleteChunk(trx, chunk)
    if (track === 'sound') {
      await store.dropSound(trx, video_id)
      await store.updateEncoding(trx, video_id, { sound_failure: reason })
      return settle(deps, trx, { ...encoding, sound_failure: reason })
    }
    const failed = { state: 'failed', failure: reason } as const
    for (const quality of qualities) {
      await store.dropQuality(trx, video_id, quality)
      await store.deleteSegments(trx, video_id, quality)
      await store.updateRendition(trx, { video_id, type: 'hls', quality }, failed)
    }
    await settle(deps, trx, encoding)
  })
}

const hasEnded = ({ state }: RenditionRow) => state === 'encoded' || state === 'failed'

/** Qualities end from the lowest up, each with its event (brief 6.4.2); the MP4 is made when all have. */
async function settle(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  encoding: store.Encoding,
): Promise<void> {
  const { video_id, environment, plan } = encoding
  if (!plan) return
  const total = countSegments(plan)
  const counts = await store.countSegments(trx, video_id)
  const isSoundThere = !plan.hasSound || encoding.sound_failure !== null || counts.get('sound') === total
  const renditions = await store.listRenditions(trx, video_id)
  const streams = renditions.filter(({ type }) => type === 'hls')
  for (const stream of streams) {
    if (hasEnded(stream)) continue
    if (!isSoundThere || counts.get(stream.quality) !== total) return
    stream.state = 'encoded'
    await store.updateRendition(trx, stream, { state: 'encoded' })
    const payload = { videoId: video_id, encoding: 'hls', quality: stream.quality } as const
    await recordEvent(trx, environment, 'video.encoding.quality.completed', payload, now())
  }
  // Also where all qualities have ended before, and the sound is encoded once more.
  if (!isSoundThere) return
  const isPlayable = streams.some(({ state }) => state === 'encoded')
  await store.updateEncoding(trx, video_id, {
    state: isPlayable ? 'encoded' : 'failed',
    failure: isPlayable ? null : (streams[0]?.failure ?? null),
    finished_at: now(),
  })
  const mp4 = renditions.find(({ type }) => type === 'mp4')
  if (mp4 && !isPlayable)
    await store.updateRendition(trx, mp4, { state: 'failed', failure: streams[0]?.failure ?? null })
  await queue.send(trx, 'finish-encoding', { videoId: video_id })
  if (isPlayable) await queue.send(trx, 'make-pictures', { videoId: video_id })
}
