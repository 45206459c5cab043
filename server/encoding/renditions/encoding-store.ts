import { type Selectable, sql, type Transaction } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { EncodingRow } from '../tables.ts'

export type Encoding = Selectable<EncodingRow>

export function findEncoding(db: Db<Tables>, videoId: string): Promise<Encoding | undefined> {
  return db.selectFrom('encodings').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** Also finds a discarded video: only the encoding of its chunks pauses. */
export function findVideo(db: Db<Tables>, videoId: string) {
  return db
    .selectFrom('all_videos')
    .select(['id', 'environment', 'mp4_support', 'clip', 'watermark', 'source_type', 'width', 'height'])
    .where('id', '=', videoId)
    .executeTakeFirst()
}

/** A transaction locks this row before it changes the state of the encoding or of its renditions. */
export function lockEncoding(trx: Transaction<Tables>, videoId: string): Promise<Encoding | undefined> {
  return trx
    .selectFrom('encodings')
    .selectAll()
    .where('video_id', '=', videoId)
    .forUpdate()
    .executeTakeFirst()
}

/** The number of earlier encodings. */
export async function findRevision(db: Db<Tables>, videoId: string): Promise<number> {
  const found = await db
    .selectFrom('encoding_revisions')
    .select('revision')
    .where('video_id', '=', videoId)
    .executeTakeFirst()
  return found?.revision ?? 0
}

/** Returns false if the video already has an encoding. */
export async function insertEncoding(
  trx: Transaction<Tables>,
  row: Pick<Encoding, 'video_id' | 'environment' | 'state' | 'failure' | 'media' | 'plan' | 'created_at'>,
): Promise<boolean> {
  const inserted = await trx
    .insertInto('encodings')
    .values({ ...row, media: JSON.stringify(row.media), plan: row.plan && JSON.stringify(row.plan) })
    .onConflict((c) => c.doNothing())
    .returning('video_id')
    .executeTakeFirst()
  return inserted !== undefined
}

export async function updateEncoding(
  trx: Transaction<Tables>,
  videoId: string,
  change: Partial<Pick<Encoding, 'state' | 'failure' | 'sound_failure' | 'finished_at' | 'is_end_reported'>>,
): Promise<void> {
  await trx.updateTable('encodings').set(change).where('video_id', '=', videoId).execute()
}

/** Replaces the plan by one that continues it. */
export async function replacePlan(
  trx: Transaction<Tables>,
  videoId: string,
  { media, plan }: Pick<Encoding, 'media' | 'plan'>,
): Promise<void> {
  await trx
    .updateTable('encodings')
    .set({ media: JSON.stringify(media), plan: JSON.stringify(plan) })
    .where('video_id', '=', videoId)
    .execute()
}

/**
 * Deletes the encoding with its renditions, segments and chunks. The next encoding removes their files, and its segments
 * have other URLs, because caches keep a segment forever.
 */
export async function deleteEncoding(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await sql`
    with deleted as (delete from encodings where video_id = ${videoId} returning plan)
    insert into encoding_revisions (video_id, revision)
    select ${videoId}, 1 from deleted where plan is not null
    on conflict (video_id) do update set revision = encoding_revisions.revision + 1`.execute(trx)
}

/** Whether something remains to be encoded. */
export async function needsSource(db: Db<Tables>, videoId: string): Promise<boolean> {
  const { rows } = await sql`
    select from encodings e
    where video_id = ${videoId} and state = 'encoded' and sound_failure is null and not exists (
      select from renditions r where r.video_id = e.video_id and type = 'hls' and state <> 'encoded')`.execute(
    db,
  )
  return rows.length === 0
}
