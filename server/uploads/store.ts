import { sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { SourceForm, SourceRow } from './tables.ts'

/** Whoever changes a source or its pieces holds this row. */
export function lockSource(trx: Transaction<Tables>, videoId: string): Promise<SourceRow | undefined> {
  return trx.selectFrom('sources').selectAll().where('video_id', '=', videoId).forUpdate().executeTakeFirst()
}

export function findSource(db: Db<Tables>, videoId: string): Promise<SourceRow | undefined> {
  return db.selectFrom('sources').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** False when the video has one already. */
export async function insertSource(db: Db<Tables>, row: SourceRow): Promise<boolean> {
  const inserted = await db
    .insertInto('sources')
    .values(row)
    .onConflict((c) => c.doNothing())
    .returning('video_id')
    .executeTakeFirst()
  return inserted !== undefined
}

export async function updateSource(
  db: Db<Tables>,
  videoId: string,
  change: Partial<Pick<SourceRow, 'total' | 'size' | 'state' | 'failure' | 'validator' | 'updated_at'>>,
): Promise<void> {
  await db.updateTable('sources').set(change).where('video_id', '=', videoId).execute()
}

/** As if the upload had not begun. */
export async function replaceSource(trx: Transaction<Tables>, row: SourceRow): Promise<void> {
  await trx.deleteFrom('source_pieces').where('video_id', '=', row.video_id).execute()
  await trx.updateTable('sources').set(row).where('video_id', '=', row.video_id).execute()
}

/** Gives a source another place in the file store, unless somebody else has done so or something has arrived. */
export async function replaceHandle(
  db: Db<Tables>,
  { video_id: videoId, handle }: Pick<SourceRow, 'video_id' | 'handle'>,
  newHandle: string,
): Promise<boolean> {
  const replaced = await db
    .updateTable('sources')
    .set({ handle: newHandle })
    .where('video_id', '=', videoId)
    .where('handle', '=', handle)
    .where('received_pieces', '=', 0)
    .where('state', '=', 'receiving')
    .returning('video_id')
    .executeTakeFirst()
  return replaced !== undefined
}

/** Videos that wait to be made of this one. */
export async function listWaitingClones(db: Db<Tables>, videoId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('videos')
    .innerJoin('sources', 'video_id', 'id')
    .select('id')
    .where('source_type', '=', 'clone')
    .where('source_reference', '=', videoId)
    .where('state', '=', 'receiving')
    .execute()
  return rows.map(({ id }) => id)
}

export async function deleteSource(db: Db<Tables>, videoId: string): Promise<void> {
  await db.deleteFrom('sources').where('video_id', '=', videoId).execute()
}

/** The newest upload by this token of a file of this name from this address that lacks the piece. */
export async function findDelegated(
  db: Db<Tables>,
  wanted: {
    token: string
    filename: string
    address: string
    form: SourceForm
    position: number
    total: number | undefined
  },
): Promise<string | undefined> {
  const { rows } = await sql<{ video_id: string }>`
    select video_id from sources s
    where token = ${wanted.token} and filename = ${wanted.filename} and address = ${wanted.address}
      and state = 'receiving' and form = ${wanted.form}
      and (total is null or ${wanted.total ?? null}::bigint is null or total = ${wanted.total ?? null}::bigint)
      and not exists (select from source_pieces p
                      where p.video_id = s.video_id and position = ${wanted.position} and place is not null)
    order by created_at desc limit 1`.execute(db)
  return rows[0]?.video_id
}

/** Uploads that nothing has been added to since then. */
export async function listForsaken(db: Db<Tables>, since: Date): Promise<SourceRow[]> {
  return db
    .selectFrom('sources')
    .selectAll()
    .where('state', '=', 'receiving')
    .where('form', 'in', ['whole', 'bytes', 'parts'])
    .where('updated_at', '<', since)
    .limit(100)
    .execute()
}

export async function isHandleKnown(db: Db<Tables>, handle: string): Promise<boolean> {
  const row = await db
    .selectFrom('sources')
    .select('video_id')
    .where('handle', '=', handle)
    .executeTakeFirst()
  return row !== undefined
}

/** Waits for a transaction that is still writing the source of this video: its answer may be lost, its commit not. */
export async function waitForWriters(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await sql`set local lock_timeout = '2s'`.execute(trx)
  // A row that refers to the video holds a share of this lock until its transaction ends.
  await trx.selectFrom('videos').select('id').where('id', '=', videoId).forUpdate().execute()
}

// --- the lock of a tus upload

export async function takeLock(
  db: Db<Tables>,
  videoId: string,
  holder: string,
  { now, until }: { now: Date; until: Date },
): Promise<boolean> {
  const taken = await db
    .updateTable('sources')
    .set({ lock_holder: holder, lock_until: until, lock_wanted: false })
    .where('video_id', '=', videoId)
    .where((eb) => eb.or([eb('lock_until', 'is', null), eb('lock_until', '<=', now)]))
    .returning('video_id')
    .executeTakeFirst()
  return taken !== undefined
}

/** Undefined when the lock was lost; else whether somebody waits for it. */
export async function renewLock(
  db: Db<Tables>,
  videoId: string,
  holder: string,
  until: Date,
): Promise<{ isWanted: boolean } | undefined> {
  return db
    .updateTable('sources')
    .set({ lock_until: until })
    .where('video_id', '=', videoId)
    .where('lock_holder', '=', holder)
    .returning('lock_wanted as isWanted')
    .executeTakeFirst()
}

export async function releaseLock(db: Db<Tables>, videoId: string, holder: string): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lock_holder: null, lock_until: null, lock_wanted: false })
    .where('video_id', '=', videoId)
    .where('lock_holder', '=', holder)
    .execute()
}

/** Tells a holder in another process that somebody waits. */
export async function askForLock(db: Db<Tables>, videoId: string): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lock_wanted: true })
    .where('video_id', '=', videoId)
    .where('lock_holder', 'is not', null)
    .where('lock_wanted', '=', false)
    .execute()
}
