import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import { type Lease, leaseMs } from '../lib/leases.ts'
import type { Tables } from '../tables.ts'
import type { Item } from './item-store.ts'
import type { ItemState, ObjectKind } from './kinds.ts'
import type { Run } from './run-store.ts'

// The work on the objects of all runs: which worker has which one, and what came of it.

/** A lease with what its holder needs. */
export type ItemLease = Lease & { item: Item; run: Run }

const isLeased = sql`state = 'fetching' and lease_until > now()`
/** A worker is gone. */
const isLost = sql`state = 'fetching' and lease_until <= now()`
/**
 * The first item of a run that waits. Ranges instead of `=`, because Postgres would otherwise read the table in the order
 * of the ids, from the first item of a run to the first that is left.
 */
const firstWaiting = (runId: RawBuilder<unknown>, condition = sql`true`) => sql`
  select id from import_items
  where (run_id, state) >= (${runId}, 'waiting') and (run_id, state) <= (${runId}, 'waiting') and next_at <= now()
    and (${condition})
  order by run_id, state, id limit 1`

/**
 * The next item of any run that fetches less than it may. The run is locked first, so that the fetches of all processes
 * are counted one after the other. Whoever finds it locked waits: a worker without an item would do nothing for a second.
 * A lost worker counts as a failed attempt.
 */
export async function claimItem(trx: Transaction<Tables>, owner: string): Promise<ItemLease | undefined> {
  const { rows: runs } = await sql<Run>`
    select * from import_runs r
    where state = 'running' and service <> 'folder' and not is_preview and (wait_until is null or wait_until <= now())
      and ((${firstWaiting(sql`r.id`)}) is not null
        or exists (select from import_items where run_id = r.id and ${isLost}))
      and concurrency > (select count(*) from import_items where run_id = r.id and ${isLeased})
    order by random() limit 1 for update`.execute(trx)
  const [run] = runs
  if (!run) return undefined
  // Players first, because others refer to them.
  const isNext = sql`kind = 'player' or not exists (
    select from import_items p where p.run_id = ${run.id} and p.kind = 'player' and p.state in ('waiting', 'fetching'))`
  const { rows } = await sql<Item>`
    update import_items
    set lease_owner = ${owner}, lease_until = now() + ${leaseMs} * interval '1 millisecond', state = 'fetching',
      attempts = attempts + (lease_owner is not null)::integer,
      updated_at = case when state = 'waiting' then now() else updated_at end
    where id = coalesce(
        (select id from import_items where run_id = ${run.id} and ${isLost} order by id limit 1 for update skip locked),
        (${firstWaiting(sql`${run.id}`, isNext)} for update skip locked))
      and ${run.concurrency} > (select count(*) from import_items where run_id = ${run.id} and ${isLeased})
    returning *`.execute(trx)
  const [item] = rows
  return item && { id: String(item.id), owner, item, run }
}

/** False if the lease was lost, or if the run was paused or canceled. */
export async function renewItem(db: Db<Tables>, { id, owner }: Lease): Promise<boolean> {
  const { rows } = await sql`
    update import_items i set lease_until = now() + ${leaseMs} * interval '1 millisecond'
    where id = ${id} and lease_owner = ${owner}
      and exists (select from import_runs r where r.id = i.run_id and r.state = 'running') returning id`.execute(
    db,
  )
  return rows.length > 0
}

/** Ends the lease. The item can be claimed again after `afterMs`. */
export async function releaseItem(
  db: Db<Tables>,
  { id, owner }: Lease,
  { afterMs, isFailure, reason }: { afterMs: number; isFailure: boolean; reason?: string },
): Promise<void> {
  await sql`
    update import_items
    set lease_owner = null, lease_until = null, state = 'waiting', reason = ${reason ?? null},
      next_at = now() + ${afterMs} * interval '1 millisecond', attempts = attempts + ${isFailure ? 1 : 0}
    where id = ${id} and lease_owner = ${owner}`.execute(db)
}

export function findLeasedItem(db: Db<Tables>, { id, owner }: Lease): Promise<Item | undefined> {
  return db
    .selectFrom('import_items')
    .selectAll()
    .where('id', '=', Number(id))
    .where('lease_owner', '=', owner)
    .executeTakeFirst()
}

/** How long the file of an item has been fetched for, without the time before the run was resumed. */
export async function findPreparationMs(db: Db<Tables>, { id }: Pick<Item, 'id'>): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from now() - greatest(o.updated_at, r.updated_at))::float8 * 1000 as ms
    from import_items i
      join import_runs r on r.id = i.run_id
      join imported_objects o on (o.environment, o.service, o.account, o.kind, o.source_id)
        = (r.environment, r.service, r.account, i.kind, i.source_id)
    where i.id = ${id}`.execute(db)
  return rows[0]?.ms ?? 0
}

type Result = { state: ItemState; reason?: string; objectId?: string; notes?: string[] }

/** What the list has told is not needed after a result. It may contain stream keys. */
const columnsOf = ({ state, reason, objectId, notes }: Result) => ({
  state,
  reason: reason ?? null,
  details: '{}',
  ...(objectId !== undefined && { object_id: objectId }),
  ...(notes !== undefined && { notes }),
  updated_at: sql<Date>`now()`,
})

/** Records the result and ends the lease, unless it was lost. */
export async function endItem(db: Db<Tables>, { id, owner }: Lease, result: Result): Promise<void> {
  await db
    .updateTable('import_items')
    .set({ ...columnsOf(result), lease_owner: null, lease_until: null })
    .where('id', '=', Number(id))
    .where('lease_owner', '=', owner)
    .execute()
}

type ItemKey = { runId: string; kind: ObjectKind; sourceId: string }

/** Records the result of an item that a client has sent. */
export async function setResult(db: Db<Tables>, key: ItemKey, result: Result): Promise<void> {
  await updateByKey(db, key).set(columnsOf(result)).execute()
}

/** What exists of an object that is not complete. A retry keeps the notes. */
export async function setProgress(
  db: Db<Tables>,
  key: ItemKey,
  { objectId, notes }: { objectId: string; notes: string[] },
): Promise<void> {
  await updateByKey(db, key).set({ object_id: objectId, notes }).execute()
}

const updateByKey = (db: Db<Tables>, { runId, kind, sourceId }: ItemKey) =>
  db
    .updateTable('import_items')
    .where('run_id', '=', runId)
    .where('kind', '=', kind)
    .where('source_id', '=', sourceId)

/** The number of items that are fetched at the moment, which share the bandwidth of the run. */
export async function countFetching(db: Db<Tables>, runId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from import_items
    where run_id = ${runId} and ${isLeased}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Workers stop within seconds, because their leases are gone. */
export async function takeLeases(trx: Transaction<Tables>, runId: string): Promise<void> {
  await sql`
    update import_items set state = 'waiting', lease_owner = null, lease_until = null, updated_at = now()
    where run_id = ${runId} and state = 'fetching'`.execute(trx)
}

export async function skipOpen(trx: Transaction<Tables>, runId: string, reason: string): Promise<void> {
  await sql`
    update import_items
    set state = 'skipped', reason = ${reason}, details = '{}', lease_owner = null, lease_until = null, updated_at = now()
    where run_id = ${runId} and state in ('waiting', 'fetching')`.execute(trx)
}
