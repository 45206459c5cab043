import { type RawBuilder, type Selectable, sql, type Transaction } from 'kysely'
import { type Db, listPage, prepare } from '../../lib/db.ts'
import { newId } from '../../lib/ids.ts'
import type { Page } from '../../lib/paging.ts'
import { notifyLive, type StoredLiveStream } from '../../live-streams/store.ts'
import type { Tables } from '../../tables.ts'
import type { BroadcastRow, LiveInitRow, LiveSegmentRow } from '../tables.ts'

export type Broadcast = Selectable<BroadcastRow>

/** A broadcast that this process owns. Every write is conditional on the fence. */
export type Claim = { id: string; fence: number }

/** The first numbers that no viewer has seen. */
export type NextNumbers = { sequence: number; epoch: number }

/** Where the owner continues. `elapsedMs` is the real time since the beginning. */
export type Position = { next: NextNumbers; endMs: number; elapsedMs: number }

/** A broadcast whose encoder is connected, or was when its owner was killed. */
export type Occupied = { claim: Claim; leaseUntil: Date }

/** A broadcast whose owner was killed, and the numbers that it has reserved outside the database. */
export type Abandoned = Occupied & { reserved: NextNumbers | undefined }

const leaseMs = 5_000

export const broadcastPrefix = 'br'

const leaseEnd = sql<Date>`now() + ${leaseMs} * interval '1 millisecond'`

export type Claimed = { claim: Claim; position: Position; broadcast: Broadcast }

/**
 * Begins a broadcast, or continues one whose encoder is disconnected. While another encoder is connected, or the broadcast
 * is about to end, it returns the lease of its owner. A broadcast whose lease has ended and is still the given one has lost
 * its owner, and is continued. The first numbers of the new owner are reserved. Undefined if the live stream was deleted.
 */
export async function claimBroadcast(
  trx: Transaction<Tables>,
  { id: live_stream_id, environment, record }: Pick<StoredLiveStream, 'id' | 'environment' | 'record'>,
  owner_url: string,
  abandoned: Abandoned | undefined,
): Promise<Claimed | Occupied | undefined> {
  // Serializes encoders that connect at the same time.
  const stream = await trx
    .selectFrom('live_streams')
    .select('id')
    .where('id', '=', live_stream_id)
    .forUpdate()
    .executeTakeFirst()
  if (!stream) return undefined
  const current = await trx
    .selectFrom('broadcasts')
    .select(['id', 'fence', 'state', 'completing', 'lease_until'])
    .select(sql<boolean>`lease_until < now()`.as('isAbandoned'))
    .where('live_stream_id', '=', live_stream_id)
    .where('state', '<>', 'ended')
    .executeTakeFirst()
  const isAbandoned =
    current?.isAbandoned &&
    current.fence === abandoned?.claim.fence &&
    current.lease_until.getTime() === abandoned.leaseUntil.getTime()
  // A broadcast whose end was requested while its encoder was away is about to end. The encoder waits, and begins another.
  const isEnding = current?.state === 'away' && current.completing
  if (current && (isEnding || (current.state === 'live' && !isAbandoned)))
    return { claim: { id: current.id, fence: current.fence }, leaseUntil: current.lease_until }
  const broadcast = current
    ? await takeOver(trx, current.id, owner_url)
    : await insertBroadcast(trx, { live_stream_id, environment, record, owner_url })
  await notifyLive(trx)
  const { id, fence } = broadcast
  const position = await findPosition(trx, id, isAbandoned ? abandoned : undefined)
  const { sequence, epoch } = reservationFrom(position)
  await trx
    .updateTable('broadcasts')
    .set({ next_sequence: sequence, next_epoch: epoch })
    .where('id', '=', id)
    .execute()
  return { claim: { id, fence }, position, broadcast }
}

/** When the lease of the owner ends that is sending. Undefined if there is none. */
export async function findLease(db: Db<Tables>, liveStreamId: string): Promise<Date | undefined> {
  const current = await db
    .selectFrom('broadcasts')
    .select('lease_until')
    .where('live_stream_id', '=', liveStreamId)
    .where('state', '=', 'live')
    .where('lease_until', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return current?.lease_until
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
  row: Pick<BroadcastRow, 'live_stream_id' | 'environment' | 'record' | 'owner_url'>,
): Promise<Broadcast> {
  return trx
    .insertInto('broadcasts')
    .values({
      ...row,
      id: newId(broadcastPrefix),
      state: 'live',
      fence: 1,
      lease_until: leaseEnd,
      completing: false,
      qualities: '[]',
      health: null,
      restreams: '[]',
      next_sequence: 0,
      next_epoch: 1,
      target_seconds: null,
      started_at: sql<Date>`now()`,
      visible_at: null,
      away_at: null,
      ended_at: null,
      deleted_stream: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What an owner reserves when it begins: the epoch of the connection, and the number of its first segment. */
export const reservationFrom = ({ next }: Position): NextNumbers => ({
  sequence: next.sequence + 1,
  epoch: next.epoch + 1,
})

/**
 * During an upgrade, the owner may be of a version that reserves no numbers. When it is killed, it may have shown two segments
 * and an epoch that it has not stored. The row tells that it has not even reserved the epoch that it has stored.
 */
async function findPosition(
  trx: Transaction<Tables>,
  id: string,
  abandoned: Abandoned | undefined,
): Promise<Position> {
  const isAbandoned = abandoned !== undefined
  const { rows } = await sql<NextNumbers & Omit<Position, 'next'>>`
    select
      greatest(b.next_sequence,
        (select max(sequence) + case when ${isAbandoned} then 3 else 1 end from live_segments where broadcast_id = b.id)
      ) as sequence,
      greatest(b.next_epoch,
        (select max(epoch) + case when ${isAbandoned} and b.next_epoch <= max(epoch) then 2 else 1 end
         from live_inits where broadcast_id = b.id)
      ) as epoch,
      coalesce((select max(start_ms + duration_ms) from live_segments where broadcast_id = b.id), 0)::float8 as "endMs",
      (1000 * extract(epoch from now() - b.started_at))::float8 as "elapsedMs"
    from broadcasts b where id = ${id}`.execute(trx)
  const { sequence, epoch, ...times } = rows[0]!
  const next = {
    sequence: Math.max(sequence, abandoned?.reserved?.sequence ?? 0),
    epoch: Math.max(epoch, abandoned?.reserved?.epoch ?? 0),
  }
  return { next, ...times }
}

/** The lock makes a process that takes over wait for writes that have begun, so that it continues after them. */
const isOurs = ({ id, fence }: Claim): RawBuilder<boolean> =>
  sql`exists (select from broadcasts where id = ${id} and fence = ${fence} and state <> 'ended' for share)`

/** What the owner shows of itself while it receives, and the numbers that it reserves. */
export type Report = Claim & { health: object; restreams: object[]; next: NextNumbers }

/** `lost`: another process has taken over, or the broadcast was ended. `completing`: its end was requested. */
export type Renewal = 'ours' | 'completing' | 'lost'

const renewRows = prepare<Claim & { completing: boolean }>(
  'renew-leases',
  `update broadcasts b
   set lease_until = now() + ${leaseMs} * interval '1 millisecond', health = r.health, restreams = r.restreams,
     next_sequence = greatest(b.next_sequence, (r.next ->> 'sequence')::integer),
     next_epoch = greatest(b.next_epoch, (r.next ->> 'epoch')::integer)
   from jsonb_to_recordset($1::jsonb) as r (id text, fence integer, health jsonb, restreams jsonb, next jsonb)
   where b.id = r.id and b.fence = r.fence and b.state = 'live'
   returning b.id, b.fence, b.completing`,
)

/** One statement for all broadcasts of a process. The results are in the order of the reports. */
export async function renewLeases(db: Db<Tables>, reports: Report[]): Promise<Renewal[]> {
  const rows = await renewRows(db, [JSON.stringify(reports)])
  return reports.map(({ id, fence }) => {
    const row = rows.find((each) => each.id === id && each.fence === fence)
    if (!row) return 'lost'
    return row.completing ? 'completing' : 'ours'
  })
}

export async function insertInit(db: Db<Tables>, claim: Claim, row: LiveInitRow): Promise<boolean> {
  const { rows } = await sql`
    insert into live_inits (broadcast_id, quality, epoch, data, codecs, width, height)
    select ${row.broadcast_id}, ${row.quality}, ${row.epoch}, ${row.data}, ${row.codecs}, ${row.width}::integer,
      ${row.height}::integer
    where ${isOurs(claim)}
    on conflict (broadcast_id, quality, epoch) do update set data = excluded.data returning epoch`.execute(db)
  return rows.length > 0
}

const insertSegmentRow = prepare<{ sequence: number }>(
  'insert-live-segment',
  `insert into live_segments
     (broadcast_id, quality, sequence, epoch, start_ms, duration_ms, bytes, fence, received_at)
   select $1, $2, $3, $4, $5, $6, $7, $8, $9
   where exists (select from broadcasts where id = $1 and fence = $8 and state <> 'ended' for share)
   on conflict (broadcast_id, quality, sequence) do update set fence = excluded.fence returning sequence`,
)

/** False if the broadcast is no longer ours. The stored file is then an orphan. */
export async function insertSegment(db: Db<Tables>, row: LiveSegmentRow): Promise<boolean> {
  const { broadcast_id, quality, sequence, epoch, start_ms, duration_ms, bytes, fence, received_at } = row
  const values = [broadcast_id, quality, sequence, epoch, start_ms, duration_ms, bytes, fence, received_at]
  return (await insertSegmentRow(db, values)).length > 0
}

/**
 * Sets what viewers can watch. `isFirst`: they could not watch anything before. Undefined if the broadcast is no longer
 * ours.
 */
export async function makeVisible(
  trx: Transaction<Tables>,
  { id, fence }: Claim,
  { targetSeconds, qualities }: { targetSeconds: number; qualities: readonly string[] },
): Promise<{ isFirst: boolean } | undefined> {
  const { rows } = await sql<{ isFirst: boolean }>`
    update broadcasts b
    set visible_at = coalesce(b.visible_at, now()), target_seconds = ${targetSeconds},
      qualities = ${JSON.stringify(qualities)}
    from (select id, visible_at is null as "isFirst" from broadcasts where id = ${id} for update) before
    where b.id = before.id and b.fence = ${fence} and b.state <> 'ended'
    returning "isFirst"`.execute(trx)
  await notifyLive(trx)
  return rows[0]
}

/**
 * The encoder is gone and may come back. Everything is stored, so the numbers that were reserved for more are free. False if
 * the broadcast is no longer ours.
 */
export async function setAway(db: Db<Tables>, { id, fence }: Claim, next: NextNumbers): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('broadcasts')
    .set({ state: 'away', away_at: sql<Date>`now()`, lease_until: sql<Date>`now()` })
    .set({ next_sequence: next.sequence, next_epoch: next.epoch })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '<>', 'ended')
    .executeTakeFirst()
  await notifyLive(db)
  return numUpdatedRows > 0n
}

const listOverdueRows = prepare<Claim>(
  'list-overdue-broadcasts',
  `select id, fence from broadcasts
   where state = 'away' and (completing or away_at < now() - $1 * interval '1 second') limit $2`,
)

/** Broadcasts whose encoder has not come back in time. Those whose end was requested do not wait. */
export function listOverdue(db: Db<Tables>, reconnectSeconds: number, limit: number): Promise<Claim[]> {
  return listOverdueRows(db, [reconnectSeconds, limit])
}

/** Broadcasts whose owner was killed, and that no process has continued in time. */
export function listAbandoned(db: Db<Tables>, reconnectSeconds: number, limit: number): Promise<Claim[]> {
  return db
    .selectFrom('broadcasts')
    .select(['id', 'fence'])
    .where('state', '=', 'live')
    .where('lease_until', '<', sql<Date>`now()`)
    .where(sql<boolean>`(completing or lease_until < now() - ${reconnectSeconds} * interval '1 second')`)
    .limit(limit)
    .execute()
}

/** Undefined if it has ended already. The fence grows, so that an owner which still runs notices. */
export async function setEnded(
  trx: Transaction<Tables>,
  { id, fence }: Claim,
): Promise<Broadcast | undefined> {
  const ended = await trx
    .updateTable('broadcasts')
    .set({ state: 'ended', ended_at: sql<Date>`now()`, fence: sql`fence + 1` })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '<>', 'ended')
    .returningAll()
    .executeTakeFirst()
  await notifyLive(trx)
  return ended
}

type Current = 'live' | 'away' | 'abandoned'

/** The number of broadcasts that have not ended, for the metrics. */
export async function countBroadcasts(db: Db<Tables>): Promise<Record<Current, number>> {
  const { rows } = await sql<{ current: Current; broadcasts: number }>`
    select case when state = 'live' and lease_until < now() then 'abandoned' else state end as current,
      count(*) as broadcasts
    from broadcasts where state <> 'ended' group by 1`.execute(db)
  const counts = { live: 0, away: 0, abandoned: 0 }
  for (const { current, broadcasts } of rows) counts[current] = broadcasts
  return counts
}

/** `isForgotten`: it has ended long enough ago. */
type State = Pick<Broadcast, 'id' | 'fence' | 'state'> & { isForgotten: boolean }

/** Players still load parts that were in their last playlist. */
const keptSeconds = 60

const listStateRows = prepare<State>(
  'list-broadcast-states',
  `select id, fence, state, coalesce(ended_at < now() - ${keptSeconds} * interval '1 second', false) as "isForgotten"
   from broadcasts where id = any($1)`,
)

/** The states of broadcasts. Those that no longer exist are missing. */
export function listStates(db: Db<Tables>, ids: string[]): Promise<State[]> {
  return listStateRows(db, [ids])
}

/** Encoded qualities are behind the source. Whoever shows the segments leaves out those that are too old. */
const maxBehindMs = 60_000
/** Segments of all qualities are longer on average, except those of an encoder that changes all the time. */
const minSegmentMs = 100

/** What viewers can rewind to. */
export async function loadWindow(
  db: Db<Tables>,
  broadcastId: string,
  windowMs: number,
): Promise<{ inits: LiveInitRow[]; segments: Selectable<LiveSegmentRow>[] }> {
  const inits = await db
    .selectFrom('live_inits')
    .selectAll()
    .where('broadcast_id', '=', broadcastId)
    .orderBy('epoch')
    .execute()
  const loadedMs = windowMs + maxBehindMs
  const { rows: segments } = await sql<Selectable<LiveSegmentRow>>`
    select *, start_ms::float8 as start_ms from live_segments
    where broadcast_id = ${broadcastId} and start_ms >= (
      select max(start_ms) from live_segments where broadcast_id = ${broadcastId}) - ${loadedMs}
    order by sequence desc limit ${Math.ceil(loadedMs / minSegmentMs)}`.execute(db)
  return { inits, segments: segments.reverse() }
}

export function listBroadcasts(
  db: Db<Tables>,
  liveStreamId: string,
  page: Page,
): Promise<{ rows: Broadcast[]; total: number }> {
  const found = db.selectFrom('broadcasts').where('live_stream_id', '=', liveStreamId)
  return listPage(db, found, (q) => q.selectAll().orderBy('started_at', 'desc').orderBy('id'), page)
}

export function findBroadcast(db: Db<Tables>, id: string): Promise<Broadcast | undefined> {
  return db.selectFrom('broadcasts').selectAll().where('id', '=', id).executeTakeFirst()
}
