import { type SqlBool, sql, type Transaction } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { StoredChunk } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import type { SourcePieceRow } from '../tables.ts'
import type { Range } from './range.ts'

// No request reads all chunks of a source: an upload may have ten thousand, and every request would cost more.

/** All chunks in order, for the job that joins them. */
export function listChunks(db: Db<Tables>, videoId: string): Promise<SourcePieceRow[]> {
  return db
    .selectFrom('source_pieces')
    .selectAll()
    .where('video_id', '=', videoId)
    .orderBy('position')
    .execute()
}

export function findChunk(
  db: Db<Tables>,
  videoId: string,
  position: number,
): Promise<SourcePieceRow | undefined> {
  return db
    .selectFrom('source_pieces')
    .selectAll()
    .where('video_id', '=', videoId)
    .where('position', '=', position)
    .executeTakeFirst()
}

/** Received chunks, and with `now` also those that are being written. */
const isCounted = (now: Date | undefined) =>
  now === undefined
    ? sql<SqlBool>`place is not null`
    : sql<SqlBool>`(place is not null or lease_until > ${now})`

/**
 * The last chunk that begins at `upTo` or before, without the one at `except`. Chunks do not overlap, so everything
 * between its end and `upTo` is free.
 */
export function findLast(
  db: Db<Tables>,
  videoId: string,
  { upTo, except, now }: { upTo?: number; except?: number; now?: Date } = {},
): Promise<{ position: number; size: number } | undefined> {
  return db
    .selectFrom('source_pieces')
    .select(['position', 'size'])
    .where('video_id', '=', videoId)
    .where(isCounted(now))
    .$if(upTo !== undefined, (q) => q.where('position', '<=', upTo!))
    .$if(except !== undefined, (q) => q.where('position', '<>', except!))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The last chunk of the source, and whether any chunk overlaps with the range. */
export async function findOthers(
  trx: Transaction<Tables>,
  videoId: string,
  range: Range,
  options: { except?: number; now?: Date },
) {
  const last = await findLast(trx, videoId, options)
  if (range.form !== 'bytes' || !last) return { last, isOverlapping: false }
  const { from, to } = range
  const before = last.position <= to ? last : await findLast(trx, videoId, { ...options, upTo: to })
  return { last, isOverlapping: before !== undefined && before.position + before.size > from }
}

/** The first received chunk. */
export function findFirst(
  db: Db<Tables>,
  videoId: string,
): Promise<{ position: number; size: number } | undefined> {
  return db
    .selectFrom('source_pieces')
    .select(['position', 'size'])
    .where('video_id', '=', videoId)
    .where('place', 'is not', null)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
}

/** The number of received bytes before this position. */
export async function sumBefore(db: Db<Tables>, videoId: string, position: number): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(size), 0)::bigint as bytes from source_pieces
    where video_id = ${videoId} and position < ${position} and place is not null`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** The number of bytes from the start that have arrived without a gap. */
export async function findFirstGap(db: Db<Tables>, videoId: string): Promise<number> {
  const { rows } = await sql<{ end: number }>`
    select coalesce(max("end"), 0)::bigint as "end" from (
      select position + size as "end", sum(size) over (order by position) as bytes
      from source_pieces where video_id = ${videoId} and place is not null) p
    where "end" = bytes`.execute(db)
  return rows[0]?.end ?? 0
}

/** The right of one request to write a chunk. */
export type UploadChunkLease = { videoId: string; position: number; owner: string }

/** Takes the lease, also from an owner whose lease has expired. */
export async function leaseChunk(
  trx: Transaction<Tables>,
  { videoId, position, owner }: UploadChunkLease,
  size: number,
  until: Date,
): Promise<void> {
  const lease = { size, lease_owner: owner, lease_until: until }
  await trx
    .insertInto('source_pieces')
    .values({ video_id: videoId, position, place: null, ...lease })
    .onConflict((c) => c.columns(['video_id', 'position']).doUpdateSet(lease))
    .execute()
}

/** False when the lease was lost. */
export async function renewChunkLease(
  db: Db<Tables>,
  lease: UploadChunkLease,
  until: Date,
): Promise<boolean> {
  const kept = await db
    .updateTable('source_pieces')
    .set({ lease_until: until })
    .where('video_id', '=', lease.videoId)
    .where('position', '=', lease.position)
    .where('lease_owner', '=', lease.owner)
    .returning('position')
    .executeTakeFirst()
  return kept !== undefined
}

export async function releaseChunkLease(db: Db<Tables>, lease: UploadChunkLease): Promise<void> {
  await db
    .deleteFrom('source_pieces')
    .where('video_id', '=', lease.videoId)
    .where('position', '=', lease.position)
    .where('lease_owner', '=', lease.owner)
    .execute()
}

/** What has arrived of a source. */
export type Received = { count: number; bytes: number }

/** Records a chunk that was written under a lease. Undefined when the lease was lost. */
export async function recordChunk(
  trx: Transaction<Tables>,
  { videoId, position, owner }: UploadChunkLease,
  { size, location }: StoredChunk,
): Promise<Received | undefined> {
  const { rows } = await sql<Received>`
    with recorded as (
      update source_pieces set size = ${size}, place = ${location}, lease_owner = null, lease_until = null
      where video_id = ${videoId} and position = ${position} and lease_owner = ${owner}
      returning video_id)
    update sources s
    set received_pieces = received_pieces + 1, received_bytes = received_bytes + ${size}
    from recorded r where r.video_id = s.video_id
    returning received_pieces as count, received_bytes as bytes`.execute(trx)
  return rows[0]
}

/** Adds a chunk without a lease. The caller has locked the source and checked that no chunk overlaps. */
export async function addChunk(
  trx: Transaction<Tables>,
  videoId: string,
  position: number,
  { size, location }: StoredChunk,
): Promise<Received> {
  const { rows } = await sql<Received>`
    with added as (
      insert into source_pieces (video_id, position, size, place)
      values (${videoId}, ${position}, ${size}, ${location})
      on conflict (video_id, position)
      do update set size = excluded.size, place = excluded.place, lease_owner = null, lease_until = null
      returning video_id)
    update sources s
    set received_pieces = received_pieces + 1, received_bytes = received_bytes + ${size}
    from added a where a.video_id = s.video_id
    returning received_pieces as count, received_bytes as bytes`.execute(trx)
  return rows[0]!
}

export async function deleteChunks(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('source_pieces').where('video_id', '=', videoId).execute()
  await trx
    .updateTable('sources')
    .set({ received_pieces: 0, received_bytes: 0 })
    .where('video_id', '=', videoId)
    .execute()
}
