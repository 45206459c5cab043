import { type SqlBool, sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { SourcePieceRow } from './tables.ts'

// No request reads all pieces of a source: an upload may have ten thousand, and each request would cost more.

/** All pieces in their order: for the one job that puts them together. */
export function listPieces(db: Db<Tables>, videoId: string): Promise<SourcePieceRow[]> {
  return db
    .selectFrom('source_pieces')
    .selectAll()
    .where('video_id', '=', videoId)
    .orderBy('position')
    .execute()
}

export function findPiece(
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

/** Pieces that have arrived, and with `now` those that somebody is writing. */
const counted = (now: Date | undefined) =>
  now === undefined
    ? sql<SqlBool>`place is not null`
    : sql<SqlBool>`(place is not null or held_until > ${now})`

/**
 * The last piece that begins at `upTo` or before, without the one at `except`. Pieces do not overlap, so it ends last
 * too: what lies past its end is free up to `upTo`.
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
    .where(counted(now))
    .$if(upTo !== undefined, (q) => q.where('position', '<=', upTo!))
    .$if(except !== undefined, (q) => q.where('position', '<>', except!))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The first piece that has arrived. */
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

/** How many bytes lie before the piece at this position. */
export async function sumBefore(db: Db<Tables>, videoId: string, position: number): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(size), 0)::bigint as bytes from source_pieces
    where video_id = ${videoId} and position < ${position} and place is not null`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** Up to where the bytes have arrived without a gap. */
export async function findFirstGap(db: Db<Tables>, videoId: string): Promise<number> {
  const { rows } = await sql<{ end: number }>`
    select coalesce(max("end"), 0)::bigint as "end" from (
      select position + size as "end", sum(size) over (order by position) as bytes
      from source_pieces where video_id = ${videoId} and place is not null) p
    where "end" = bytes`.execute(db)
  return rows[0]?.end ?? 0
}

/** Claims the position for a holder, taking it over from one that is gone. */
export async function holdPiece(
  trx: Transaction<Tables>,
  piece: Pick<SourcePieceRow, 'video_id' | 'position' | 'size'>,
  holder: string,
  until: Date,
): Promise<void> {
  await trx
    .insertInto('source_pieces')
    .values({ ...piece, place: null, holder, held_until: until })
    .onConflict((c) =>
      c.columns(['video_id', 'position']).doUpdateSet({ size: piece.size, holder, held_until: until }),
    )
    .execute()
}

/** Who claimed which piece. */
export type Held = { videoId: string; position: number; holder: string }

/** False when the claim was lost. */
export async function keepHolding(db: Db<Tables>, held: Held, until: Date): Promise<boolean> {
  const kept = await db
    .updateTable('source_pieces')
    .set({ held_until: until })
    .where('video_id', '=', held.videoId)
    .where('position', '=', held.position)
    .where('holder', '=', held.holder)
    .returning('position')
    .executeTakeFirst()
  return kept !== undefined
}

export async function releasePiece(db: Db<Tables>, held: Held): Promise<void> {
  await db
    .deleteFrom('source_pieces')
    .where('video_id', '=', held.videoId)
    .where('position', '=', held.position)
    .where('holder', '=', held.holder)
    .execute()
}

type Sums = { pieces: number; bytes: number }

/** Records a claimed piece that has arrived, and returns the sums with it. Undefined when the claim was lost. */
export async function recordPiece(
  trx: Transaction<Tables>,
  { videoId, position, holder }: Held,
  { size, place }: { size: number; place: string },
): Promise<Sums | undefined> {
  const { rows } = await sql<Sums>`
    with recorded as (
      update source_pieces set size = ${size}, place = ${place}, holder = null, held_until = null
      where video_id = ${videoId} and position = ${position} and holder = ${holder}
      returning video_id)
    update sources s
    set received_pieces = received_pieces + 1, received_bytes = received_bytes + ${size}
    from recorded r where r.video_id = s.video_id
    returning received_pieces as pieces, received_bytes as bytes`.execute(trx)
  return rows[0]
}

/** Adds a piece that nobody had to claim: the caller holds the source's row and nothing is in the way. */
export async function addPiece(
  trx: Transaction<Tables>,
  videoId: string,
  position: number,
  { size, place }: { size: number; place: string },
): Promise<Sums> {
  const { rows } = await sql<Sums>`
    with added as (
      insert into source_pieces (video_id, position, size, place)
      values (${videoId}, ${position}, ${size}, ${place})
      on conflict (video_id, position)
      do update set size = excluded.size, place = excluded.place, holder = null, held_until = null
      returning video_id)
    update sources s
    set received_pieces = received_pieces + 1, received_bytes = received_bytes + ${size}
    from added a where a.video_id = s.video_id
    returning received_pieces as pieces, received_bytes as bytes`.execute(trx)
  return rows[0]!
}

export async function deletePieces(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('source_pieces').where('video_id', '=', videoId).execute()
  await trx
    .updateTable('sources')
    .set({ received_pieces: 0, received_bytes: 0 })
    .where('video_id', '=', videoId)
    .execute()
}
