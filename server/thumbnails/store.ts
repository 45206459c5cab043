import { type Selectable, sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Sprites } from '../media/sprites.ts'
import type { Tables } from '../tables.ts'
import type { PicturesRow } from '../thumbnails/tables.ts'

export type Pictures = Selectable<PicturesRow>

/** Whether there is something to show before a video plays, and while one seeks. Undefined when there is no such video. */
export async function findPictures(
  db: Db<Tables>,
  videoId: string,
): Promise<{ hasThumbnail: boolean; hasSprites: boolean } | undefined> {
  return db
    .selectFrom('videos')
    .leftJoin('pictures', 'video_id', 'id')
    .select([
      sql<boolean>`thumbnail_key is not null`.as('hasThumbnail'),
      sql<boolean>`sprites is not null`.as('hasSprites'),
    ])
    .where('id', '=', videoId)
    .executeTakeFirst()
}

/** The row of a video, made if it has none. Undefined when there is no such video. */
export async function openPictures(db: Db<Tables>, videoId: string): Promise<Pictures | undefined> {
  await sql`
    insert into pictures (video_id) select id from videos where id = ${videoId} for key share
    on conflict do nothing`.execute(db)
  return db.selectFrom('pictures').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** The last wish counts: an upload that is still under way comes to nothing. */
export async function wishFrame(trx: Transaction<Tables>, videoId: string, timecode: string): Promise<void> {
  await sql`
    insert into pictures (video_id, wish, timecode)
    select id, 'picked', ${timecode} from videos where id = ${videoId} for key share
    on conflict (video_id) do update
    set wish = excluded.wish, timecode = excluded.timecode, version = pictures.version + 1,
      uploading_key = null`.execute(trx)
}

/** Told before it is stored, so that it is not taken for a stray. */
export async function announceUpload(db: Db<Tables>, videoId: string, key: string): Promise<void> {
  await sql`
    insert into pictures (video_id, uploading_key)
    select id, ${key} from videos where id = ${videoId} for key share
    on conflict (video_id) do update set uploading_key = excluded.uploading_key`.execute(db)
}

/** False when it does not count: something else was wished for meanwhile, or the video is gone. */
export async function noteUpload(trx: Transaction<Tables>, videoId: string, key: string): Promise<boolean> {
  const { rows } = await sql`
    update pictures
    set wish = 'uploaded', timecode = null, version = version + 1, thumbnail_key = ${key}, uploading_key = null
    where video_id = ${videoId} and uploading_key = ${key} returning video_id`.execute(trx)
  return rows.length > 0
}

/** False when something else was wished for meanwhile, or the video is gone. */
export async function noteThumbnail(
  db: Db<Tables>,
  { video_id, version }: Pick<Pictures, 'video_id' | 'version'>,
  key: string,
): Promise<boolean> {
  const { rows } = await sql`
    update pictures set thumbnail_key = ${key}
    where video_id = ${video_id} and version = ${version} returning video_id`.execute(db)
  return rows.length > 0
}

/** False when the video is gone. */
export async function noteSprites(
  db: Db<Tables>,
  videoId: string,
  sprites: Sprites,
  key: string,
): Promise<boolean> {
  const { rows } = await sql`
    update pictures set sprites = ${JSON.stringify(sprites)}, sprites_key = ${key}
    where video_id = ${videoId} returning video_id`.execute(db)
  return rows.length > 0
}
