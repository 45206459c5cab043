import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { findEncoding } from '../../encoding/renditions/encoding-store.ts'
import { dropPartialEncoding } from '../../encoding/renditions/partial.ts'
import { type ByteRange, overlapsRanges } from '../../lib/byte-ranges.ts'
import type { Tables } from '../../tables.ts'
import type { SourceRow } from '../tables.ts'
import * as arrivingStore from './arriving-store.ts'
import { isDue } from './growth.ts'

export type ArrivalContext = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log'>

/** Queues the job that encodes what has arrived, if enough has. The caller has locked the source. */
export async function examineIfDue(
  { config, files, queue, now }: Pick<ArrivalContext, 'config' | 'files' | 'queue' | 'now'>,
  trx: Transaction<Tables>,
  { video_id: videoId, handle, examined_bytes, examined_at }: SourceRow,
  arrivedBytes: number,
): Promise<void> {
  if (!config.encodesDuringUpload || files.pathOfUpload(handle) === undefined) return
  const growth = { examinedBytes: examined_bytes, examinedAt: examined_at, arrivedBytes, now: now() }
  if (!isDue(growth)) return
  await arrivingStore.recordExamined(trx, videoId, { bytes: arrivedBytes, now: growth.now })
  await queue.send(trx, 'encode-early', { videoId })
}

/**
 * Other bytes are written to a place of the file, or what was written there is gone. Drops what was encoded from it. The
 * caller has locked the source, which has not received these bytes.
 */
export async function discardBytes(
  { queue }: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  { video_id: videoId, examined_bytes }: SourceRow,
  range: ByteRange,
): Promise<void> {
  if (examined_bytes === 0) return
  const partial = (await findEncoding(trx, videoId))?.plan?.partial
  const isEncoded = partial !== undefined && overlapsRanges(partial.ranges, range)
  // A job may be examining them at the moment. It reads from the start of the file, mostly.
  if (!isEncoded && examined_bytes <= range.from) return
  await arrivingStore.reviseArrival(trx, videoId)
  if (isEncoded) await dropPartialEncoding({ queue }, trx, videoId)
}

/** Nothing of what has arrived will be part of the source. The caller has locked it. */
export const discardArrived = (
  queue: Context['queue'],
  trx: Transaction<Tables>,
  source: SourceRow,
): Promise<void> => discardBytes({ queue }, trx, source, { from: 0, to: Number.MAX_SAFE_INTEGER })
