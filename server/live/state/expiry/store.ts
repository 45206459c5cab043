import { sql } from 'kysely'
import type { Db } from '../../../lib/db.ts'
import type { Tables } from '../../../tables.ts'
import type { LiveSegmentRow } from '../../tables.ts'
import { sourceQuality } from '../qualities.ts'

type SegmentKey = Pick<LiveSegmentRow, 'broadcast_id' | 'quality' | 'sequence' | 'fence'>

/** Segments that are missing in a recording which is not made yet. `b` and `s` are the broadcast and the segment. */
const isNeeded = sql<boolean>`(
  b.record and s.quality = ${sourceQuality} and coalesce(
    (select r.state <> 'recorded' from recordings r
     where r.broadcast_id = b.id and s.sequence between r.from_sequence and r.to_sequence),
    b.state <> 'ended'))`

export async function listRunning(db: Db<Tables>): Promise<string[]> {
  const rows = await db.selectFrom('broadcasts').select('id').where('state', '<>', 'ended').execute()
  return rows.map(({ id }) => id)
}

/** Segments of a broadcast that viewers can no longer rewind to, and that no recording needs. */
export async function listOutOfWindow(
  db: Db<Tables>,
  broadcastId: string,
  { windowMs, limit }: { windowMs: number; limit: number },
): Promise<SegmentKey[]> {
  const { rows } = await sql<SegmentKey>`
    select s.broadcast_id, s.quality, s.sequence, s.fence
    from live_segments s join broadcasts b on b.id = s.broadcast_id
    where s.broadcast_id = ${broadcastId} and s.start_ms < ${windowStart(broadcastId, windowMs)}
      and not ${isNeeded}
    limit ${limit}`.execute(db)
  return rows
}

const windowStart = (broadcastId: string, windowMs: number) =>
  sql`(select max(start_ms) from live_segments where broadcast_id = ${broadcastId}) - ${windowMs}`

export async function deleteSegments(db: Db<Tables>, keys: SegmentKey[]): Promise<void> {
  await sql`
    delete from live_segments s
    using unnest(${keys.map((key) => key.broadcast_id)}::text[], ${keys.map((key) => key.quality)}::text[],
                 ${keys.map((key) => key.sequence)}::integer[]) as k (broadcast_id, quality, sequence)
    where s.broadcast_id = k.broadcast_id and s.quality = k.quality and s.sequence = k.sequence`.execute(db)
}

/** Broadcasts that nobody can watch any more. Their segments are not needed, except for unfinished recordings. */
export async function listOver(
  db: Db<Tables>,
  { seconds, limit }: { seconds: number; limit: number },
): Promise<{ id: string; isRecorded: boolean; isStreamDeleted: boolean }[]> {
  const { rows } = await sql<{ id: string; isRecorded: boolean; isStreamDeleted: boolean }>`
    select * from (
      select b.id, s.id is null as "isStreamDeleted",
        not exists (select from recordings r where r.broadcast_id = b.id and r.state <> 'recorded') as "isRecorded"
      from broadcasts b left join live_streams s on s.id = b.live_stream_id
      where b.state = 'ended' and (s.id is null or b.ended_at < now() - ${seconds} * interval '1 second')
    ) over
    where "isStreamDeleted" and "isRecorded" or exists (
      select from live_segments g
      where g.broadcast_id = over.id and ("isRecorded" or g.quality <> ${sourceQuality}))
    limit ${limit}`.execute(db)
  return rows
}

/** The broadcast stays in the history. */
export async function deleteMedia(db: Db<Tables>, broadcastId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.deleteFrom('live_segments').where('broadcast_id', '=', broadcastId).execute()
    await trx.deleteFrom('live_inits').where('broadcast_id', '=', broadcastId).execute()
  })
}

export async function deleteBroadcast(db: Db<Tables>, broadcastId: string): Promise<void> {
  await db.deleteFrom('broadcasts').where('id', '=', broadcastId).execute()
}

/** Broadcasts that are too old for the history. */
export async function listOld(db: Db<Tables>, days: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('broadcasts')
    .select('id')
    .where('state', '=', 'ended')
    .where('ended_at', '<', sql<Date>`now() - ${days} * interval '1 day'`)
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

// --- for the sweep

export async function filterExisting(db: Db<Tables>, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('broadcasts')
    .select('id')
    .where('id', '=', sql<string>`any(${ids})`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export async function listSegmentKeys(db: Db<Tables>, broadcastId: string): Promise<SegmentKey[]> {
  return db
    .selectFrom('live_segments')
    .select(['broadcast_id', 'quality', 'sequence', 'fence'])
    .where('broadcast_id', '=', broadcastId)
    .execute()
}
