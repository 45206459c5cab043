import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import { type Lease, leaseMs } from '../lib/leases.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import { stateColumn } from '../videos/state-store.ts'
import type { ItemState, ObjectKind } from './kinds.ts'
import type { ListedObject } from './services/service.ts'
import type { ImportItemRow } from './tables.ts'

export type Item = Selectable<ImportItemRow>

/** An object with what is known about it from earlier runs. */
export type NewItem = ListedObject & {
  state: 'waiting' | 'skipped'
  reason: string | null
  objectId: string | null
}

/** Returns how many of them are new in the run: a list that repeats itself would never end. */
export async function insertItems(
  trx: Transaction<Tables>,
  runId: string,
  items: NewItem[],
): Promise<number> {
  if (items.length === 0) return 0
  const inserted = await trx
    .insertInto('import_items')
    .values(
      items.map(
        ({ kind, id, title, details, version, contentVersion, bytes, seconds, state, reason, objectId }) => ({
          run_id: runId,
          kind,
          source_id: id,
          title,
          // They may contain stream keys, which are not needed any more.
          details: JSON.stringify(state === 'skipped' ? {} : details),
          version,
          content_version: contentVersion,
          bytes,
          seconds,
          state,
          reason,
          object_id: objectId,
        }),
      ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute()
  return inserted.length
}

export async function countVideos(db: Db<Tables>, runId: string): Promise<number> {
  const { count } = await db
    .selectFrom('import_items')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run_id', '=', runId)
    .where('kind', '=', 'video')
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** `total_bytes`: the size of the file, which the list of the service may not tell. */
export type ListedItem = Item & { received_bytes: number; total_bytes: number | null }

const receivedBytes = sql<number>`
  coalesce((select received_bytes from sources where video_id = import_items.object_id and kind = 'video'), 0)`
const totalBytes = sql<number | null>`
  (select total from sources where video_id = import_items.object_id and kind = 'video')`
const sizes = [receivedBytes.as('received_bytes'), totalBytes.as('total_bytes')] as const

/** In the order of the list. */
export async function listItems(
  db: Db<Tables>,
  runId: string,
  { state, kind }: { state?: ItemState | undefined; kind?: ObjectKind | undefined },
  page: Page,
): Promise<{ items: ListedItem[]; total: number }> {
  const found = db
    .selectFrom('import_items')
    .where('run_id', '=', runId)
    .$if(state !== undefined, (q) => q.where('state', '=', state!))
    .$if(kind !== undefined, (q) => q.where('kind', '=', kind!))
  const { rows: items, total } = await listPage(
    db,
    found,
    (q) => q.selectAll().select(sizes).orderBy('id'),
    page,
  )
  return { items, total }
}

/** The next items after this one, for reports of any length. */
export function listItemsAfter(
  db: Db<Tables>,
  runId: string,
  after: number,
  limit: number,
): Promise<ListedItem[]> {
  return db
    .selectFrom('import_items')
    .selectAll()
    .select(sizes)
    .where('run_id', '=', runId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Videos whose size is not known, for a preview. */
export function listUnmeasured(db: Db<Tables>, runId: string, limit: number): Promise<Item[]> {
  return db
    .selectFrom('import_items')
    .selectAll()
    .where('run_id', '=', runId)
    .where('kind', '=', 'video')
    .where('state', '=', 'waiting')
    .where('bytes', 'is', null)
    .orderBy(sql`md5(source_id)`)
    .limit(limit)
    .execute()
}

/** A large video, whose first bytes tell how fast the service is. */
export function findSample(db: Db<Tables>, runId: string): Promise<Item | undefined> {
  return db
    .selectFrom('import_items')
    .selectAll()
    .where('run_id', '=', runId)
    .where('kind', '=', 'video')
    .where('state', '=', 'waiting')
    .orderBy('bytes', (order) => order.desc().nullsLast())
    .limit(1)
    .executeTakeFirst()
}

export async function setMeasures(
  db: Db<Tables>,
  id: number,
  { bytes, seconds }: { bytes: number | null; seconds: number | null },
): Promise<void> {
  await db.updateTable('import_items').set({ bytes, seconds }).where('id', '=', id).execute()
}

// --- work

const kindRank = sql`array_position(array['player', 'video', 'liveStream', 'webhook'], kind)`
const isOpen = sql`state in ('waiting', 'fetching')`

/**
 * The next item of any run that fetches less than it may. The run is locked first, so that the fetches of all processes
 * are counted one after the other. Whoever finds it locked waits: a worker without an item would do nothing for a second.
 * A lost worker counts as a failed attempt.
 */
export async function claimItem(trx: Transaction<Tables>, owner: string): Promise<Lease | undefined> {
  const { rows: runs } = await sql<{ id: string; concurrency: number }>`
    select id, concurrency from import_runs r
    where state = 'running' and service <> 'folder' and not is_preview and (wait_until is null or wait_until <= now())
      and exists (select from import_items i where i.run_id = r.id and ${isOpen}
        and next_at <= now() and (lease_owner is null or lease_until < now()))
      and concurrency > (select count(*) from import_items i where i.run_id = r.id and ${isOpen} and i.lease_until > now())
    order by random() limit 1 for update`.execute(trx)
  const [run] = runs
  if (!run) return undefined
  const { rows } = await sql<{ id: number }>`
    update import_items
    set lease_owner = ${owner}, lease_until = now() + ${leaseMs} * interval '1 millisecond', state = 'fetching',
      attempts = attempts + (lease_owner is not null)::integer,
      updated_at = case when state = 'waiting' then now() else updated_at end
    where id = (
      select id from import_items i
      where run_id = ${run.id} and ${isOpen} and next_at <= now() and (lease_owner is null or lease_until < now())
        and ${run.concurrency} > (
          select count(*) from import_items o where o.run_id = ${run.id} and ${isOpen} and o.lease_until > now())
        and (kind = 'player' or not exists (
          select from import_items p where p.run_id = ${run.id} and p.kind = 'player' and p.state in ('waiting', 'fetching')))
      order by ${kindRank}, id limit 1 for update skip locked)
    returning id`.execute(trx)
  return rows[0] && { id: String(rows[0].id), owner }
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

type Result = {
  state: Extract<ItemState, 'encoding' | 'done' | 'failed' | 'skipped'>
  reason?: string
  objectId?: string
  notes?: string[]
}

/** Records the result and ends the lease. False if the lease was lost. */
export async function endItem(db: Db<Tables>, { id, owner }: Lease, result: Result): Promise<boolean> {
  const { state, reason = null, objectId, notes } = result
  const ended = await db
    .updateTable('import_items')
    .set({
      state,
      reason,
      details: '{}',
      ...(objectId !== undefined && { object_id: objectId }),
      ...(notes !== undefined && { notes }),
      lease_owner: null,
      lease_until: null,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', Number(id))
    .where('lease_owner', '=', owner)
    .returning('id')
    .executeTakeFirst()
  return ended !== undefined
}

export async function setObject(db: Db<Tables>, { id, owner }: Lease, objectId: string): Promise<void> {
  await db
    .updateTable('import_items')
    .set({ object_id: objectId })
    .where('id', '=', Number(id))
    .where('lease_owner', '=', owner)
    .execute()
}

/** The number of items that are fetched at the moment, which share the bandwidth of the run. */
export async function countFetching(db: Db<Tables>, runId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from import_items
    where run_id = ${runId} and state = 'fetching' and lease_until > now()`.execute(db)
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
    where run_id = ${runId} and ${isOpen}`.execute(trx)
}

/** Records which files of folders have been uploaded. */
export async function settleUploads(db: Db<Tables>): Promise<void> {
  await sql`
    with uploaded as (
      update import_items i set state = 'encoding', reason = null, updated_at = now()
      from import_runs r
      where r.id = i.run_id and r.service = 'folder' and r.state = 'running' and i.state = 'fetching'
        and i.kind = 'video' and exists (
          select from sources s where s.video_id = i.object_id and s.state in ('received', 'stored', 'dropped'))
      returning i.source_id, r.environment, r.account
    )
    update imported_objects o set is_complete = true, updated_at = now() from uploaded u
    where o.environment = u.environment and o.service = 'folder' and o.account = u.account and o.kind = 'video'
      and o.source_id = u.source_id`.execute(db)
}

/** Ends the items whose files the client of a folder has not uploaded. */
export async function failNotUploaded(db: Db<Tables>, runId: string): Promise<void> {
  await sql`
    update import_items i set state = 'failed', reason = 'The file was not uploaded.', updated_at = now()
    where run_id = ${runId} and state in ('waiting', 'fetching') and not exists (
      select from sources s where s.video_id = i.object_id and s.state in ('received', 'stored', 'dropped'))`.execute(
    db,
  )
}

/** The result of an item that a client has sent. */
export async function updateItem(
  db: Db<Tables>,
  { runId, kind, sourceId }: { runId: string; kind: ObjectKind; sourceId: string },
  change: { state: ItemState; objectId?: string; reason?: string; notes?: string[] },
): Promise<void> {
  const { state, objectId, reason = null, notes } = change
  await db
    .updateTable('import_items')
    .set({
      state,
      reason,
      details: '{}',
      ...(objectId !== undefined && { object_id: objectId }),
      ...(notes !== undefined && { notes }),
      updated_at: sql<Date>`now()`,
    })
    .where('run_id', '=', runId)
    .where('kind', '=', kind)
    .where('source_id', '=', sourceId)
    .execute()
}

/** Records the end of the encoding of imported videos. */
export async function settleEncodings(db: Db<Tables>): Promise<void> {
  await sql`
    with encoding as (
      select id as "itemId", object_id from import_items where state = 'encoding' order by id limit 2000
    ), ended as (
      select id as "videoId", ${sql.raw(stateColumn)},
        coalesce((select failure from encodings where video_id = id), (select failure from sources where video_id = id)) as failure
      from videos where id = any(array(select object_id from encoding))
    )
    update import_items i
    set state = case when e."videoState" = 'ready' then 'done' else 'failed' end,
      reason = case when e."videoId" is null then 'The video was deleted.'
                    when e."videoState" = 'failed' then coalesce(e.failure, 'The video cannot be encoded.') end,
      updated_at = now()
    from encoding o left join ended e on e."videoId" = o.object_id
    where i.id = o."itemId" and i.state = 'encoding'
      and (e."videoId" is null or e."videoState" in ('ready', 'failed'))`.execute(db)
}

export type Known = {
  kind: ObjectKind
  sourceId: string
  objectId: string
  version: string | null
  contentVersion: string
  isComplete: boolean
  exists: boolean
}

type Origin = { environment: Environment; service: string; account: string }

/** What is known about these objects from earlier runs. */
export async function findKnown(
  db: Db<Tables>,
  { environment, service, account }: Origin,
  kind: ObjectKind,
  sourceIds: string[],
): Promise<Map<string, Known>> {
  const { rows } = await sql<Known>`
    select kind, source_id as "sourceId", object_id as "objectId", version, content_version as "contentVersion",
      is_complete as "isComplete",
      case kind
        when 'video' then exists (select from all_videos v where v.id = object_id)
        when 'player' then exists (select from players p where p.id = object_id)
        when 'liveStream' then exists (select from live_streams l where l.id = object_id)
        else exists (select from webhooks w where w.id = object_id)
      end as exists
    from imported_objects
    where environment = ${environment} and service = ${service} and account = ${account} and kind = ${kind}
      and source_id = any(${sourceIds})`.execute(db)
  return new Map(rows.map((row) => [row.sourceId, row]))
}

/** Which of these ids exist here, in any environment. */
export async function findTaken(db: Db<Tables>, kind: ObjectKind, ids: string[]): Promise<Set<string>> {
  const table = { video: 'all_videos', player: 'players', liveStream: 'live_streams', webhook: 'webhooks' }[
    kind
  ]
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where id = any(${ids})`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

type NewObject = Origin & { kind: ObjectKind; sourceId: string; objectId: string; contentVersion: string }

/** Together with the object, so that a retry finds it. */
export async function recordObject(trx: Transaction<Tables>, object: NewObject): Promise<void> {
  const { environment, service, account, kind, sourceId, objectId, contentVersion } = object
  await trx
    .insertInto('imported_objects')
    .values({
      environment,
      service: service as never,
      account,
      kind,
      source_id: sourceId,
      object_id: objectId,
      version: null,
      content_version: contentVersion,
    })
    .onConflict((conflict) =>
      conflict.columns(['environment', 'service', 'account', 'kind', 'source_id']).doUpdateSet({
        object_id: objectId,
        version: null,
        content_version: contentVersion,
        is_complete: false,
        updated_at: sql<Date>`now()`,
      }),
    )
    .execute()
}

export async function updateObject(
  db: Db<Tables>,
  { environment, service, account }: Origin,
  { kind, sourceId }: { kind: ObjectKind; sourceId: string },
  change: { version?: string; is_complete?: boolean },
): Promise<void> {
  await db
    .updateTable('imported_objects')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('environment', '=', environment)
    .where('service', '=', service as never)
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('source_id', '=', sourceId)
    .execute()
}

/** What a retry keeps of an earlier attempt. */
export async function setNotes(db: Db<Tables>, { id, owner }: Lease, notes: string[]): Promise<void> {
  await db
    .updateTable('import_items')
    .set({ notes })
    .where('id', '=', Number(id))
    .where('lease_owner', '=', owner)
    .execute()
}
