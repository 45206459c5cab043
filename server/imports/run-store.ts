import { type Selectable, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import { createLeases, type Lease } from '../lib/leases.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { ItemState, RunState } from './kinds.ts'
import type { ImportRunRow } from './tables.ts'

export type Run = Selectable<ImportRunRow>

/** Notified when there may be work on a run. */
export const importsChannel = 'kinora_imports'

export async function announceImports(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${importsChannel}, '')`.execute(db)
}

type NewRun = Pick<
  Run,
  | 'id'
  | 'environment'
  | 'service'
  | 'account'
  | 'options'
  | 'credentials'
  | 'is_preview'
  | 'concurrency'
  | 'bandwidth'
>

export async function insertRun(db: Db<Tables>, { options, ...run }: NewRun): Promise<void> {
  await db
    .insertInto('import_runs')
    .values({ ...run, options: JSON.stringify(options), state: 'running' })
    .execute()
}

export function findRun(db: Db<Tables>, environment: Environment, id: string): Promise<Run | undefined> {
  return db
    .selectFrom('import_runs')
    .selectAll()
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export function findActiveRun(db: Db<Tables>, id: string): Promise<Run | undefined> {
  return db
    .selectFrom('import_runs')
    .selectAll()
    .where('id', '=', id)
    .where('state', '=', 'running')
    .executeTakeFirst()
}

/** Newest first. */
export async function listRuns(
  db: Db<Tables>,
  environment: Environment,
  page: Page,
): Promise<{ runs: Run[]; total: number }> {
  const all = db.selectFrom('import_runs').where('environment', '=', environment)
  const { rows: runs, total } = await listPage(
    db,
    all,
    (q) => q.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc'),
    page,
  )
  return { runs, total }
}

export type RunTotals = {
  states: Partial<Record<ItemState, number>>
  videos: number
  measured: number
  seconds: number
  bytes: number
  receivedBytes: number
  /** Of what is not finished. Null if no video tells it. */
  left: { seconds: number | null; bytes: number | null }
}

type StateRow = Omit<RunTotals, 'states' | 'left'> & { state: ItemState; items: number; timed: number }

/** By run. */
export async function findTotals(db: Db<Tables>, runIds: string[]): Promise<Map<string, RunTotals>> {
  const { rows } = await sql<StateRow & { runId: string }>`
    select i.run_id as "runId", i.state, count(*)::integer as items,
      count(*) filter (where i.kind = 'video')::integer as videos,
      count(*) filter (where i.kind = 'video' and i.bytes is not null)::integer as measured,
      count(*) filter (where i.kind = 'video' and i.seconds is not null)::integer as timed,
      coalesce(sum(i.seconds), 0)::float8 as seconds, coalesce(sum(i.bytes), 0)::bigint as bytes,
      coalesce(sum(s.received_bytes), 0)::bigint as "receivedBytes"
    from import_items i left join sources s on i.kind = 'video' and s.video_id = i.object_id and i.state <> 'skipped'
    where i.run_id = any(${runIds}) group by i.run_id, i.state`.execute(db)
  return new Map(runIds.map((id) => [id, addUp(rows.filter(({ runId }) => runId === id))]))
}

function addUp(rows: StateRow[]): RunTotals {
  const counted = rows.filter(({ state }) => state !== 'skipped')
  const sum = (of: (row: StateRow) => number, added = counted) =>
    added.reduce((total, row) => total + Number(of(row)), 0)
  const open = counted.filter(({ state }) => ['waiting', 'fetching', 'encoding'].includes(state))
  /** Videos that do not tell it count as the average. */
  const left = (of: (row: StateRow) => number, known: (row: StateRow) => number) => {
    const unknown = sum(({ videos }) => videos, open) - sum(known, open)
    if (unknown === 0) return sum(of, open)
    return sum(known) === 0 ? null : sum(of, open) + (unknown * sum(of)) / sum(known)
  }
  const leftBytes = left(
    ({ bytes }) => bytes,
    ({ measured }) => measured,
  )
  return {
    states: Object.fromEntries(rows.map(({ state, items }) => [state, items])),
    videos: sum(({ videos }) => videos),
    measured: sum(({ measured }) => measured),
    seconds: sum(({ seconds }) => seconds),
    bytes: sum(({ bytes }) => bytes),
    receivedBytes: sum(({ receivedBytes }) => receivedBytes),
    left: {
      seconds: left(
        ({ seconds }) => seconds,
        ({ timed }) => timed,
      ),
      bytes:
        leftBytes === null ? null : Math.max(0, leftBytes - sum(({ receivedBytes }) => receivedBytes, open)),
    },
  }
}

type Change = { state: RunState; failure?: string; isPreview?: boolean }

/** Undefined if the run is in none of these states. The work of other processes on it ends when it is no longer running. */
export async function changeState(
  db: Db<Tables>,
  id: string,
  from: RunState[],
  { state, failure, isPreview }: Change,
): Promise<Run | undefined> {
  const hasEnded = state === 'completed' || state === 'canceled' || state === 'failed'
  return db
    .updateTable('import_runs')
    .set({
      state,
      updated_at: sql<Date>`now()`,
      next_at: sql<Date>`now()`,
      attempts: 0,
      lease_owner: null,
      lease_until: null,
      ...(failure !== undefined && { failure }),
      ...(isPreview !== undefined && { is_preview: isPreview }),
      ...(hasEnded && { credentials: null, ended_at: sql<Date>`now()` }),
    })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst()
}

/** Runs that nobody has resumed for a while keep no key. The client of a folder may never come back. */
export async function listForgotten(db: Db<Tables>, before: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select('id')
    .where((eb) =>
      eb.or([
        eb('state', 'in', ['ready', 'paused']),
        eb.and([eb('service', '=', 'folder'), eb('state', '=', 'running'), eb('listed_at', 'is', null)]),
      ]),
    )
    .where('updated_at', '<', before)
    .execute()
  return rows.map(({ id }) => id)
}

// --- the list

const leases = createLeases<Tables>('import_runs', 'id')
export const { renew: renewRun, release: releaseRun } = leases

export const claimList = (db: Db<Tables>, owner: string): Promise<Lease | undefined> =>
  leases.claim(
    db,
    owner,
    sql`state = 'running' and service <> 'folder' and listed_at is null and (wait_until is null or wait_until <= now())`,
  )

export async function hasRunning(db: Db<Tables>): Promise<boolean> {
  const { rows } = await sql`select from import_runs where state = 'running' limit 1`.execute(db)
  return rows.length > 0
}

/** Records that a page was listed, and ends the lease. A null cursor is the end. False if the lease was lost. */
export async function recordPage(
  db: Db<Tables>,
  { id, owner }: Lease,
  cursor: string | null,
): Promise<boolean> {
  const { rows } = await sql`
    update import_runs
    set cursor = ${cursor}, listed_at = case when ${cursor}::text is null then now() end, attempts = 0,
      next_at = clock_timestamp(), lease_owner = null, lease_until = null
    where id = ${id} and lease_owner = ${owner} returning id`.execute(db)
  return rows.length > 0
}

/** The client of a folder has sent all objects. */
export async function markListed(db: Db<Tables>, id: string): Promise<void> {
  await sql`update import_runs set listed_at = now(), updated_at = now() where id = ${id} and state = 'running'`.execute(
    db,
  )
}

/** No process sends requests to the service until then. */
export async function delayRun(db: Db<Tables>, id: string, waitMs: number): Promise<void> {
  await sql`
    update import_runs set wait_until = greatest(wait_until, now() + ${waitMs} * interval '1 millisecond')
    where id = ${id}`.execute(db)
}

/** How much the last file counts. Single files may be as fast or as slow as no other. */
const weight = 0.2

/** `speed`: the bytes per second of a file that was fetched. */
export async function recordFetchSpeed(db: Db<Tables>, id: string, speed: number): Promise<void> {
  await sql`
    update import_runs
    set fetch_speed = coalesce(${1 - weight}::float8 * fetch_speed + ${weight}::float8 * ${speed}::float8, ${speed})
    where id = ${id}`.execute(db)
}

/** Ends the runs that have nothing left to do. Returns their ids. */
export async function completeRuns(db: Db<Tables>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update import_runs r
    set state = case when is_preview then 'ready' else 'completed' end, updated_at = now(),
      credentials = case when is_preview then credentials end,
      ended_at = case when not is_preview then now() end
    where state = 'running' and listed_at is not null and (is_preview or not exists (
      select from import_items i where i.run_id = r.id and i.state in ('waiting', 'fetching', 'encoding')))
    returning id`.execute(db)
  return rows.map(({ id }) => id)
}
