import { sql, type Transaction } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { SourceForm, SourceRow } from '../tables.ts'

/**
 * Every transaction that changes a source or its chunks locks this row first. The video is locked before it, as by a
 * deletion: Postgres locks it, too, when the row is updated twice.
 */
export function lockSource(trx: Transaction<Tables>, videoId: string): Promise<SourceRow | undefined> {
  const video = trx.selectFrom('all_videos').select('id').where('id', '=', videoId).forKeyShare()
  return trx
    .selectFrom('sources')
    .selectAll()
    .where('video_id', '=', (qb) => qb.selectFrom(video.as('video')).select('id'))
    .forUpdate('sources')
    .executeTakeFirst()
}

export function findSource(db: Db<Tables>, videoId: string): Promise<SourceRow | undefined> {
  return db.selectFrom('sources').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** What makes the video differ from its source. */
export async function findEdits(db: Db<Tables>, videoId: string): Promise<('clip' | 'watermark')[]> {
  const video = await db
    .selectFrom('videos')
    .select(['clip', 'watermark'])
    .where('id', '=', videoId)
    .executeTakeFirst()
  return [...(video?.clip ? ['clip' as const] : []), ...(video?.watermark ? ['watermark' as const] : [])]
}

/** False when the video has a source already. */
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
  change: Partial<Omit<SourceRow, 'video_id' | 'form' | 'handle' | 'created_by' | 'created_at'>>,
): Promise<void> {
  await db.updateTable('sources').set(change).where('video_id', '=', videoId).execute()
}

/** False when the source is in another state by now: another job of the same video may have fetched it. */
export async function failSource(
  trx: Transaction<Tables>,
  videoId: string,
  state: SourceRow['state'],
  { failure, now }: { failure: string; now: Date },
): Promise<boolean> {
  const failed = await trx
    .updateTable('sources')
    .set({ state: 'failed', failure, updated_at: now })
    .where('video_id', '=', videoId)
    .where('state', '=', state)
    .returning('video_id')
    .executeTakeFirst()
  return failed !== undefined
}

/** Stops the fetching of a source until it is resumed. */
export async function pauseSource(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.updateTable('sources').set({ is_paused: true }).where('video_id', '=', videoId).execute()
}

/** False when the source was not paused. */
export async function resumeSource(trx: Transaction<Tables>, videoId: string): Promise<boolean> {
  const resumed = await trx
    .updateTable('sources')
    .set({ is_paused: false })
    .where('video_id', '=', videoId)
    .where('is_paused', '=', true)
    .returning('video_id')
    .executeTakeFirst()
  return resumed !== undefined
}

/** Resets the upload. */
export async function replaceSource(trx: Transaction<Tables>, row: SourceRow): Promise<void> {
  await trx.deleteFrom('source_pieces').where('video_id', '=', row.video_id).execute()
  await trx.updateTable('sources').set(row).where('video_id', '=', row.video_id).execute()
}

/** Replaces the upload of a source in the file store. False when another request did so, or a chunk has arrived. */
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

/** Videos that wait to be copied from this one. The job of a discarded one pauses until the video is restored. */
export async function listWaitingClones(db: Db<Tables>, videoId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('all_videos')
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

/** The newest upload with this token, file name and IP address that lacks the chunk. */
export async function findDelegatedUpload(
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
      and exists (select from videos v where v.id = s.video_id)
      and (total is null or ${wanted.total ?? null}::bigint is null or total = ${wanted.total ?? null}::bigint)
      and not exists (select from source_pieces p
                      where p.video_id = s.video_id and position = ${wanted.position} and place is not null)
    order by created_at desc limit 1`.execute(db)
  return rows[0]?.video_id
}

/** Whether all bytes have arrived, and no encoding is planned yet. */
export async function isBeingExamined(db: Db<Tables>, videoId: string): Promise<boolean> {
  const { rows } = await sql`
    select from sources s
    where video_id = ${videoId} and state in ('received', 'stored')
      and not exists (select from encodings e where e.video_id = s.video_id)`.execute(db)
  return rows.length > 0
}

/** Uploads that have received nothing since then. */
export async function listAbandoned(db: Db<Tables>, since: Date): Promise<SourceRow[]> {
  return db
    .selectFrom('sources')
    .selectAll()
    .where('state', '=', 'receiving')
    .where('form', 'in', ['whole', 'bytes', 'parts'])
    .where('updated_at', '<', since)
    .limit(100)
    .execute()
}

export async function isHandleUsed(db: Db<Tables>, handle: string): Promise<boolean> {
  const row = await db
    .selectFrom('sources')
    .select('video_id')
    .where('handle', '=', handle)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether the file store must contain files of videos. */
export async function hasStoredSource(db: Db<Tables>): Promise<boolean> {
  const row = await db
    .selectFrom('sources')
    .select('video_id')
    .where('state', 'in', ['stored', 'dropped'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Waits for transactions that still write the source of this video: a commit can succeed after its response was lost. */
export async function waitForWriters(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await sql`set local lock_timeout = '2s'`.execute(trx)
  // An insert that refers to the video holds a share lock on its row until its transaction ends.
  await trx.selectFrom('all_videos').select('id').where('id', '=', videoId).forUpdate().execute()
}

/** Whether the token is bound to the video, or has created it. */
export async function isVideoOfToken(db: Db<Tables>, videoId: string, token: string): Promise<boolean> {
  const found = await db
    .selectFrom('upload_tokens')
    .innerJoin('all_videos', (join) => join.on('all_videos.id', '=', videoId))
    .select('token')
    .where('upload_tokens.token', '=', token)
    .where((eb) =>
      eb.or([
        eb('upload_tokens.video_id', '=', eb.ref('all_videos.id')),
        eb('all_videos.upload_token', '=', eb.ref('upload_tokens.token')),
      ]),
    )
    .executeTakeFirst()
  return found !== undefined
}
