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

/** The chunk that is being written, or was when its process was killed. */
export function arrivingOf({
  arriving_from: from,
  arriving_bytes: bytes,
}: Pick<SourceRow, 'arriving_from' | 'arriving_bytes'>): ByteRange | undefined {
  return from === null || bytes === null ? undefined : { from, to: from + bytes }
}

/**
 * Other bytes are written to a place of the file. Drops what was encoded from what was there, which the source has not
 * received. The caller has locked the source.
 */
export async function replaceBytes(
  deps: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  source: SourceRow,
  range: ByteRange,
): Promise<void> {
  if (source.examined_bytes === 0) return
  const arriving = arrivingOf(source)
  const partial = (await findEncoding(trx, source.video_id))?.plan?.partial
  // A job may have read them, and not have recorded its plan yet.
  const isRead = arriving !== undefined && overlapsRanges([arriving], range)
  if (isRead || (partial && overlapsRanges(partial.ranges, range)))
    await discardBytes(deps, trx, source, range)
}

/** Bytes that may have been read are gone. Drops what was encoded from them. The caller has locked the source. */
export async function discardBytes(
  { queue }: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  { video_id: videoId, examined_bytes }: SourceRow,
  range: ByteRange,
): Promise<void> {
  if (examined_bytes === 0) return
  const partial = (await findEncoding(trx, videoId))?.plan?.partial
  await arrivingStore.reviseArrival(trx, videoId)
  if (partial && overlapsRanges(partial.ranges, range)) await dropPartialEncoding({ queue }, trx, videoId)
}

/** Nothing of what has arrived will be part of the source. The caller has locked it. */
export const discardArrived = (
  queue: Context['queue'],
  trx: Transaction<Tables>,
  source: SourceRow,
): Promise<void> => discardBytes({ queue }, trx, source, { from: 0, to: Number.MAX_SAFE_INTEGER })
