import { sql, type Transaction } from 'kysely'
import type { EncodingPlan } from '../encoding/tables.ts'
import type { Environment } from '../environments.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Sprites } from '../media/sprites.ts'
import type { Tables } from '../tables.ts'

/** The thumbnail and the sprites of a video: the requested ones and those that exist. */
export type Thumbnails = {
  videoId: string
  /** Chosen by us, picked by timecode, or uploaded. */
  thumbnailSource: 'automatic' | 'picked' | 'uploaded'
  timecode: string | null
  /** Incremented by each request for another thumbnail. */
  version: number
  thumbnailKey: string | null
  uploadingKey: string | null
  sprites: Sprites | null
  spritesKey: string | null
}

/** Creates the row if it is missing, also for a discarded video. Undefined when there is no such video. */
export async function openThumbnails(db: Db<Tables>, videoId: string): Promise<Thumbnails | undefined> {
  await sql`
    insert into pictures (video_id) select id from all_videos where id = ${videoId} for key share
    on conflict do nothing`.execute(db)
  return db
    .selectFrom('pictures')
    .select([
      'video_id as videoId',
      'thumbnail_source as thumbnailSource',
      'timecode',
      'version',
      'thumbnail_key as thumbnailKey',
      'uploading_key as uploadingKey',
      'sprites',
      'sprites_key as spritesKey',
    ])
    .where('video_id', '=', videoId)
    .executeTakeFirst()
}

/** The latest request wins: an upload that is in progress has no effect. */
export async function pickFrame(trx: Transaction<Tables>, videoId: string, timecode: string): Promise<void> {
  await sql`
    insert into pictures (video_id, thumbnail_source, timecode)
    select id, 'picked', ${timecode} from videos where id = ${videoId} for key share
    on conflict (video_id) do update
    set thumbnail_source = excluded.thumbnail_source, timecode = excluded.timecode, version = pictures.version + 1,
      uploading_key = null`.execute(trx)
}

/** Called before the file is stored, so that it does not count as an orphan. */
export async function startUpload(db: Db<Tables>, videoId: string, key: string): Promise<void> {
  await sql`
    insert into pictures (video_id, uploading_key)
    select id, ${key} from videos where id = ${videoId} for key share
    on conflict (video_id) do update set uploading_key = excluded.uploading_key`.execute(db)
}

type StoredFiles = { key: string; bytes: number }

/** False when another thumbnail was requested in the meantime, or the video was deleted. */
export async function recordUpload(
  trx: Transaction<Tables>,
  videoId: string,
  { key, bytes }: StoredFiles,
): Promise<boolean> {
  const { rows } = await sql`
    update pictures
    set thumbnail_source = 'uploaded', timecode = null, version = version + 1, thumbnail_key = ${key},
      thumbnail_bytes = ${bytes}, uploading_key = null
    where video_id = ${videoId} and uploading_key = ${key} returning video_id`.execute(trx)
  return rows.length > 0
}

/** False when another thumbnail was requested in the meantime, or the video was deleted. */
export async function recordThumbnail(
  db: Db<Tables>,
  { videoId, version }: Pick<Thumbnails, 'videoId' | 'version'>,
  { key, bytes }: StoredFiles,
): Promise<boolean> {
  const { rows } = await sql`
    update pictures set thumbnail_key = ${key}, thumbnail_bytes = ${bytes}
    where video_id = ${videoId} and version = ${version} returning video_id`.execute(db)
  return rows.length > 0
}

/** False when the video was deleted. */
export async function recordSprites(
  db: Db<Tables>,
  videoId: string,
  sprites: Sprites,
  { key, bytes }: StoredFiles,
): Promise<boolean> {
  const { rows } = await sql`
    update pictures set sprites = ${JSON.stringify(sprites)}, sprites_key = ${key}, sprites_bytes = ${bytes}
    where video_id = ${videoId} returning video_id`.execute(db)
  return rows.length > 0
}

export type ThumbnailAsset = Pick<Thumbnails, 'thumbnailKey' | 'sprites' | 'spritesKey'> & {
  public: boolean
  environment: Environment
  plan: EncodingPlan | null
}

const findForPlayback = prepare<ThumbnailAsset>(
  'find-thumbnails',
  `select v.public, v.environment, e.plan, p.thumbnail_key as "thumbnailKey", p.sprites,
     p.sprites_key as "spritesKey"
   from videos v left join encodings e on e.video_id = v.id left join pictures p on p.video_id = v.id
   where v.id = $1`,
)

export async function findThumbnailAsset(
  db: Db<Tables>,
  videoId: string,
): Promise<ThumbnailAsset | undefined> {
  const [row] = await findForPlayback(db, [videoId])
  return row
}
