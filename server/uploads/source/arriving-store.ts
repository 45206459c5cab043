import { sql, type Transaction } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { SourceRow } from '../tables.ts'

/** A chunk that is being written, at its place in the file. */
export type Arriving = { owner: string; from: number; bytes: number }

/**
 * Records how much of a chunk is written. Of several chunks that are written at the same time, the first one of the file
 * counts.
 */
export async function recordArriving(
  trx: Transaction<Tables>,
  videoId: string,
  { owner, from, bytes }: Arriving,
): Promise<void> {
  // What another request writes may have been read, and is not known any more.
  await sql`
    update sources set arriving_owner = ${owner}, arriving_from = ${from}, arriving_bytes = ${bytes},
      arrival_revision = arrival_revision + coalesce(arriving_owner <> ${owner}, false)::int
    where video_id = ${videoId} and (arriving_owner is null or arriving_owner = ${owner} or arriving_from >= ${from})`.execute(
    trx,
  )
}

export async function clearArriving(db: Db<Tables>, videoId: string, owner: string): Promise<void> {
  await db
    .updateTable('sources')
    .set({ arriving_owner: null, arriving_from: null, arriving_bytes: null })
    .where('video_id', '=', videoId)
    .where('arriving_owner', '=', owner)
    .execute()
}

export async function recordExamined(
  trx: Transaction<Tables>,
  videoId: string,
  { bytes, now }: { bytes: number; now: Date },
): Promise<void> {
  await trx
    .updateTable('sources')
    .set({ examined_bytes: bytes, examined_at: now })
    .where('video_id', '=', videoId)
    .execute()
}

/** Bytes have to be discarded that may have been read. What is left is examined from the beginning. */
export async function reviseArrival(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await sql`
    update sources
    set arrival_revision = arrival_revision + 1, examined_bytes = 0, examined_at = null,
      arriving_owner = null, arriving_from = null, arriving_bytes = null
    where video_id = ${videoId}`.execute(trx)
}

/** More than any file has. */
const never = Number.MAX_SAFE_INTEGER

/** The source is examined only when it is complete, unless bytes that were read are replaced. */
export async function recordAllExamined(
  db: Db<Tables>,
  { video_id, arrival_revision }: Pick<SourceRow, 'video_id' | 'arrival_revision'>,
): Promise<void> {
  await db
    .updateTable('sources')
    .set({ examined_bytes: never })
    .where('video_id', '=', video_id)
    .where('arrival_revision', '=', arrival_revision)
    .execute()
}

/** The source is examined only when it is complete. A job that is examining it must not record what it finds. */
export async function stopExamining(db: Db<Tables>, videoId: string): Promise<void> {
  await sql`
    update sources set examined_bytes = ${never}, arrival_revision = arrival_revision + 1
    where video_id = ${videoId}`.execute(db)
}
