import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { countSegments } from '../../media/grid.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import type { Tables } from '../../tables.ts'
import * as chunks from '../chunks/encode-chunk-store.ts'
import { listWork, priorityOf } from '../chunks/schedule.ts'
import * as encodings from '../renditions/encoding-store.ts'
import { dropPartialEncoding } from '../renditions/partial.ts'
import { canStart } from '../renditions/playable.ts'
import { listBegun } from '../renditions/rendition-store.ts'
import type { EncodingPlan } from '../tables.ts'
import { continues } from './partial-plan.ts'

type Longer = { plan: EncodingPlan; media: SourceMedia; is_paused: boolean }

/**
 * Continues a partial encoding with the plan of more of its source, or of the complete source. If its segments are not the
 * first ones of that plan, it is deleted. Returns whether it was continued. The caller has locked the video.
 */
export async function continuePartial(
  deps: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  videoId: string,
  { plan, media, is_paused }: Longer,
): Promise<boolean> {
  const encoding = await encodings.lockEncoding(trx, videoId)
  const before = encoding?.plan
  if (!encoding || !before?.partial) return false
  if (!continues(before, plan)) {
    await dropPartialEncoding(deps, trx, videoId)
    return false
  }
  await encodings.replacePlan(trx, videoId, { plan, media })
  if (!plan.partial) await chunks.raisePriority(trx, videoId)
  const from = countSegments(before)
  const work = listWork(plan).map((chunk) => {
    const rest = { ...chunk, first_segment: from, segments: chunk.segments - from }
    return { ...rest, priority: priorityOf(plan, rest), is_paused }
  })
  if (countSegments(plan) > from) await chunks.extendChunks(trx, encoding, work)
  await chunks.announceChunks(trx)
  // While the source arrived, no picture was made.
  const wanted = { plan, hasAudio: plan.hasSound }
  if (!plan.partial && canStart(await listBegun(trx, videoId), wanted))
    await deps.queue.send(trx, 'make-first-picture', { videoId })
  return true
}
