import { sql, type Transaction } from 'kysely'
import type {
  Environment,
  SourceForm,
  SourcePieceRow,
  SourceRow,
  Tables,
  UploadTokenRow,
} from '../contracts/tables.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'

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
export async function restartSource(
  trx: Transaction<Tables>,
  videoId: string,
  form: SourceForm,
): Promise<void> {
  await deletePieces(trx, videoId)
  await trx.updateTable('sources').set({ form, total: null }).where('video_id', '=', videoId).execute()
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

export function listPieces(db: Db<Tables>, videoId: string): Promise<SourcePieceRow[]> {
  return db
    .selectFrom('source_pieces')
    .selectAll()
    .where('video_id', '=', videoId)
    .orderBy('position')
    .execute()
}

export async function deletePieces(db: Db<Tables>, videoId: string): Promise<void> {
  await db.deleteFrom('source_pieces').where('video_id', '=', videoId).execute()
}

/** Claims the place for a holder, taking it over from one that is gone. */
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

/** False when the claim was lost. */
export async function keepHolding(
  db: Db<Tables>,
  videoId: string,
  holder: string,
  until: Date,
): Promise<boolean> {
  const kept = await db
    .updateTable('source_pieces')
    .set({ held_until: until })
    .where('video_id', '=', videoId)
    .where('holder', '=', holder)
    .returning('position')
    .executeTakeFirst()
  return kept !== undefined
}

export async function releasePiece(db: Db<Tables>, videoId: string, holder: string): Promise<void> {
  await db.deleteFrom('source_pieces').where('video_id', '=', videoId).where('holder', '=', holder).execute()
}

/** False when the claim was lost. */
export async function recordPiece(
  trx: Transaction<Tables>,
  videoId: string,
  holder: string,
  piece: { size: number; place: string },
): Promise<boolean> {
  const recorded = await trx
    .updateTable('source_pieces')
    .set({ ...piece, holder: null, held_until: null })
    .where('video_id', '=', videoId)
    .where('holder', '=', holder)
    .returning('position')
    .executeTakeFirst()
  return recorded !== undefined
}

/** The newest upload by this token of a file of this name from this address that lacks the piece. */
export async function findDelegated(
  db: Db<Tables>,
  wanted: {
    token: string
    filename: string
    address: string
    form: string
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

// --- upload tokens

const isActive = (now: Date) => sql<boolean>`(expires_at is null or expires_at > ${now})`

export async function insertToken(db: Db<Tables>, row: UploadTokenRow): Promise<void> {
  await db.insertInto('upload_tokens').values(row).execute()
}

export function findToken(db: Db<Tables>, token: string, now: Date): Promise<UploadTokenRow | undefined> {
  return db
    .selectFrom('upload_tokens')
    .selectAll()
    .where('token', '=', token)
    .where(isActive(now))
    .executeTakeFirst()
}

export async function deleteToken(db: Db<Tables>, environment: Environment, token: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('upload_tokens')
    .where('environment', '=', environment)
    .where('token', '=', token)
    .returning('token')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function listTokens(
  db: Db<Tables>,
  environment: Environment,
  { by, order }: { by: 'createdAt' | 'ttl'; order: 'asc' | 'desc' },
  page: Page,
  now: Date,
): Promise<{ tokens: UploadTokenRow[]; total: number }> {
  const active = db.selectFrom('upload_tokens').where('environment', '=', environment).where(isActive(now))
  const { rows: tokens, total } = await listPage(
    active,
    (q) =>
      q
        .selectAll()
        .orderBy(by === 'ttl' ? 'ttl' : 'created_at', order)
        .orderBy('token', order),
    page,
  )
  return { tokens, total }
}
