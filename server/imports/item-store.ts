import { type Selectable, sql, type Transaction } from 'kysely'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { ItemState, ObjectKind } from './kinds.ts'
import type { ListedObject } from './services/service.ts'
import type { ImportItemRow } from './tables.ts'

// The objects of a run as the service has listed them.

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
