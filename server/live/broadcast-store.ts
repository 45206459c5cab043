import { type RawBuilder, type Selectable, sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import { newId } from '../lib/ids.ts'
import type { StoredLiveStream } from '../live-streams/store.ts'
import type { Tables } from '../tables.ts'
import type { BroadcastRow, LiveInitRow, LiveSegmentRow } from './tables.ts'

export type Broadcast = Selectable<BroadcastRow>

/** A broadcast that this process owns. Every write is conditional on the fence. */
export type Claim = { id: string; fence: number }

/** Where the owner continues. */
export type Position = { epoch: number; nextSequence: number; endMs: number }

export const leaseMs = 5_000

const leaseEnd = sql<Date>`now() + ${leaseMs} * interval '1 millisecond'`

export function findByStreamKey(db: Db<Tables>, streamKey: string): Promise<StoredLiveStream | undefined> {
  return db
    .selectFrom('live_streams')
    .selectAll()
    .where('stream_key', '=', streamKey)
    .executeTakeFirst()
}

/**
 * Begins a broadcast, or continues one whose encoder is away or whose owner is gone. Undefined while another encoder is
 * connected.
 */
export async function claimBroadcast(
  trx: Transaction<Tables>,
  { id: live_stream_id, environment }: Pick<StoredLiveStream, 'id' | 'environment'>,
  owner_url: string,
): Promise<{ claim: Claim; position: Position; broadcast: Broadcast } | undefined> {
  // Serializes encoders that connect at the same time.
  await trx
    .selectFrom('live_streams')
    .select('id')
    .where('id', '=', live_stream_id)
    .forUpdate()
    .executeTakeFirstOrThrow()
  const current = await trx
    .selectFrom('broadcasts')
    .select(['id', 'state', sql<boolean>`lease_until < now()`.as('isAbandoned')])
    .where('live_stream_id', '=', live_stream_id)
    .where('state', '<>', 'ended')
    .executeTakeFirst()
  if (current && current.state === 'live' && !current.isAbandoned) return undefined
  const broadcast = current
    ? await takeOver(trx, current.id, owner_url)
    : await insertBroadcast(trx, { live_stream_id, environment, owner_url })
  const { id, fence } = broadcast
  return { claim: { id, fence }, position: await findPosition(trx, id), broadcast }
}

function takeOver(trx: Transaction<Tables>, id: string, owner_url: string): Promise<Broadcast> {
  return trx
    .updateTable('broadcasts')
    .set({ state: 'live', fence: sql`fence + 1`, owner_url, lease_until: leaseEnd, away_at: null })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function insertBroadcast(
  trx: Transaction<Tables>,
  row: Pick<BroadcastRow, 'live_stream_id' | 'environment' | 'owner_url'>,
): Promise<Broadcast> {
  return trx
    .insertInto('broadcasts')
    .values({
      ...row,
      ...{ id: newId('broadcast_'), state: 'live', fence: 1, lease_until: leaseEnd },
      ...{ target_seconds: null, started_at: sql<Date>`now()`, visible_at: null, away_at: null, ended_at: null },
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function findPosition(trx: Transaction<Tables>, broadcastId: string): Promise<Position> {
  const { rows } = await sql<Position>`
    select coalesce((select max(epoch) from live_inits where broadcast_id = ${broadcastId}), 0) + 1 as epoch,
      coalesce(max(sequence) + 1, 0) as "nextSequence",
      coalesce(max(start_ms + duration_ms), 0) as "endMs"
    from live_segments where broadcast_id = ${broadcastId}`.execute(trx)
  return rows[0]!
}

const isOurs = ({ id, fence }: Claim): RawBuilder<boolean> =>
  sql`exists (select from broadcasts where id = ${id} and fence = ${fence} and state <> 'ended')`

/** False if another process has taken over, or the broadcast was ended. */
export async function renewLease(db: Db<Tables>, { id, fence }: Claim): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('broadcasts')
    .set({ lease_until: leaseEnd })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '=', 'live')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function insertInit(db: Db<Tables>, claim: Claim, row: LiveInitRow): Promise<boolean> {
  const { rows } = await sql`
    insert into live_inits (broadcast_id, quality, epoch, data, codecs, width, height)
    select ${row.broadcast_id}, ${row.quality}, ${row.epoch}, ${row.data}, ${row.codecs}, ${row.width}::integer,
      ${row.height}::integer
    where ${isOurs(claim)} returning epoch`.execute(db)
  return rows.length > 0
}

/** False if the broadcast is no longer ours. The stored file is then an orphan. */
export async function insertSegment(db: Db<Tables>, claim: Claim, row: LiveSegmentRow): Promise<boolean> {
  const { rows } = await sql`
    insert into live_segments (broadcast_id, quality, sequence, epoch, start_ms, duration_ms, bytes, received_at)
    select ${row.broadcast_id}, ${row.quality}, ${row.sequence}, ${row.epoch}, ${row.start_ms}, ${row.duration_ms},
      ${row.bytes}, ${row.received_at}
    where ${isOurs(claim)} returning sequence`.execute(db)
  return rows.length > 0
}

/** Sets the target duration and the time at which viewers can watch. True for the first call of a broadcast. */
export async function makeVisible(
  trx: Transaction<Tables>,
  { id, fence }: Claim,
  targetSeconds: number,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('broadcasts')
    .set({ visible_at: sql<Date>`now()`, target_seconds: targetSeconds })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('visible_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The encoder is gone and may come back. */
export async function setAway(db: Db<Tables>, { id, fence }: Claim): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ state: 'away', away_at: sql<Date>`now()`, lease_until: sql<Date>`now()` })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '=', 'live')
    .execute()
}

/** Broadcasts whose encoder has not come back in time, or whose owner was killed that long ago. */
export function listOverdue(db: Db<Tables>, reconnectSeconds: number, limit: number): Promise<Broadcast[]> {
  const limitTime = sql<Date>`now() - ${reconnectSeconds} * interval '1 second'`
  return db
    .selectFrom('broadcasts')
    .selectAll()
    .where('state', '<>', 'ended')
    .where(sql<boolean>`coalesce(away_at, lease_until) < ${limitTime}`)
    .limit(limit)
    .execute()
}

/** Undefined if it has ended already. The fence grows, so that an owner which still runs notices. */
export function endBroadcast(
  trx: Transaction<Tables>,
  { id, fence }: Claim,
): Promise<Broadcast | undefined> {
  return trx
    .updateTable('broadcasts')
    .set({ state: 'ended', ended_at: sql<Date>`now()`, fence: sql`fence + 1` })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '<>', 'ended')
    .returningAll()
    .executeTakeFirst()
}
