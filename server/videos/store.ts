import { hash } from 'node:crypto'
import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Size } from '../media/images.ts'
import type { Tables } from '../tables.ts'
import type { Clip, Metadata, VideoRow, VideoWatermark } from './tables.ts'

export const columns = [
  'id',
  'title',
  'description',
  'public',
  'panoramic',
  'mp4_support',
  'playable_during_upload',
  'tags',
  'metadata',
  'player_id',
  'language',
  'is_language_detected',
  'source_type',
  'source_reference',
  'width',
  'height',
  'created_at',
  'updated_at',
] as const satisfies (keyof VideoRow)[]

/** The columns that the API shows. */
export type StoredVideo = Pick<Selectable<VideoRow>, (typeof columns)[number]>

/** Searches for tags and metadata look up these hashes, which include the environment. */
const hashTerm = (term: string) => hash('sha256', term, 'hex').slice(0, 32)

export const tagTerms = (environment: Environment, tags: string[]) =>
  tags.map((tag) => hashTerm(`${environment} ${tag}`))

/** With the length of the key, so that no two pairs result in the same text. */
export const metadataTerms = (environment: Environment, metadata: Metadata[]) =>
  metadata.map(({ key, value }) => hashTerm(`${environment} ${key.length} ${key} ${value}`))

export type NewVideo = StoredVideo & {
  environment: Environment
  clip: Clip | null
  watermark: VideoWatermark | null
  upload_token: string | null
}

// Also appends to the counts of videos.
const insert = prepare(
  'insert-video',
  `with counted as (
     insert into video_count_changes (environment, tags, change) values ($2, $8, 1)
   )
   insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata, player_id,
                       language, source_type, source_reference, clip, created_at, updated_at,
                       tag_terms, metadata_terms, upload_token, watermark, playable_during_upload)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
)

export async function insertVideo(db: Db<Tables>, video: NewVideo): Promise<void> {
  await insert(db, [
    video.id,
    video.environment,
    video.title,
    video.description,
    video.public,
    video.panoramic,
    video.mp4_support,
    video.tags,
    JSON.stringify(video.metadata),
    video.player_id,
    video.language,
    video.source_type,
    video.source_reference,
    video.clip && JSON.stringify(video.clip),
    video.created_at,
    video.updated_at,
    tagTerms(video.environment, video.tags),
    metadataTerms(video.environment, video.metadata),
    video.upload_token,
    video.watermark && JSON.stringify(video.watermark),
    video.playable_during_upload,
  ])
}

const find = prepare<StoredVideo>(
  'find-video',
  `select ${columns.join(', ')} from videos where id = $1 and environment = $2`,
)

export async function findVideo(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<StoredVideo | undefined> {
  const [row] = await find(db, [id, environment])
  return row
}

/** The URL of a tus upload contains the id of its video, but no environment. */
export async function findEnvironment(db: Db<Tables>, id: string): Promise<Environment | undefined> {
  const row = await db.selectFrom('videos').select('environment').where('id', '=', id).executeTakeFirst()
  return row?.environment
}

/** The columns that decide who may upload into a video. */
export type UploadTarget = Pick<VideoRow, 'id' | 'source_type' | 'upload_token'>

export function findUploadTarget(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<UploadTarget | undefined> {
  return db
    .selectFrom('videos')
    .select(['id', 'source_type', 'upload_token'])
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

/** Closes the video to upload tokens other than this one, unless it is closed already. */
export async function recordUploader(trx: Transaction<Tables>, id: string, uploader: string): Promise<void> {
  await trx
    .updateTable('all_videos')
    .set({ upload_token: uploader })
    .where('id', '=', id)
    .where('upload_token', 'is', null)
    .execute()
}

/** Waits for a concurrent deletion of the video. */
export async function lockVideo(trx: Transaction<Tables>, id: string): Promise<void> {
  await trx.selectFrom('all_videos').select('id').where('id', '=', id).forNoKeyUpdate().execute()
}

export type VideoChange = Partial<Omit<StoredVideo, 'id' | 'created_at'>>

/** Undefined when there is no such video. In a transaction, because the counts change with the tags. */
export async function updateVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
  { metadata, ...change }: VideoChange,
): Promise<StoredVideo | undefined> {
  if (change.tags) {
    await sql`
      with old as (select tags from videos where id = ${id} and environment = ${environment} for update)
      insert into video_count_changes (environment, tags, change)
      select ${environment}, tags, -1 from old
      union all
      select ${environment}, ${change.tags}::text[], 1 from old`.execute(trx)
  }
  return trx
    .updateTable('videos')
    .set({
      ...change,
      tag_terms: change.tags && tagTerms(environment, change.tags),
      metadata: metadata && JSON.stringify(metadata),
      metadata_terms: metadata && metadataTerms(environment, metadata),
    })
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning(columns)
    .executeTakeFirst()
}

/** Sets the language that was recognized in the audio, unless the owner has set one. */
export async function setDetectedLanguage(
  trx: Transaction<Tables>,
  id: string,
  language: string,
): Promise<void> {
  await trx
    .updateTable('videos')
    .set({ language, is_language_detected: true })
    .where('id', '=', id)
    .where('language', 'is', null)
    .execute()
}

/** Also sets it on a discarded video: its encoding has been planned all the same. */
export async function setVideoSize(
  trx: Transaction<Tables>,
  id: string,
  { width, height }: Size,
): Promise<void> {
  await trx.updateTable('all_videos').set({ width, height }).where('id', '=', id).execute()
}

/** Removes the size of a video that is not encoded, or not any more. */
export async function clearVideoSize(db: Db<Tables>, id: string): Promise<void> {
  await sql`
    update all_videos set width = null, height = null
    where id = ${id} and width is not null and not exists (select from encodings where video_id = ${id})`.execute(
    db,
  )
}

/** Returns the handle of the video's upload in the file store, if it has one. Undefined when there is no such video. */
export async function deleteVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
): Promise<{ handle: string | null } | undefined> {
  const { rows } = await sql<{ handle: string | null }>`
    with deleted as (
      delete from videos where id = ${id} and environment = ${environment} returning id, environment, tags
    ), counted as (
      insert into video_count_changes (environment, tags, change) select environment, tags, -1 from deleted
    )
    select handle from deleted left join sources on video_id = id`.execute(trx)
  return rows[0]
}

/** Whether the video exists, in any environment, discarded or not. Otherwise its files are removed. */
export async function hasVideo(db: Db<Tables>, id: string): Promise<boolean> {
  const row = await db.selectFrom('all_videos').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

/** Whether the content is arriving, from a client or from where a job fetches it. */
export async function isReceiving(db: Db<Tables>, videoId: string): Promise<boolean> {
  const row = await db
    .selectFrom('sources')
    .select('state')
    .where('video_id', '=', videoId)
    .executeTakeFirst()
  return row?.state === 'receiving' || row?.state === 'received'
}

/** The URL or video that the content comes from, also of a discarded video. */
export function findSourceOfVideo(
  db: Db<Tables>,
  videoId: string,
): Promise<Pick<StoredVideo, 'source_type' | 'source_reference'> | undefined> {
  return db
    .selectFrom('all_videos')
    .select(['source_type', 'source_reference'])
    .where('id', '=', videoId)
    .executeTakeFirst()
}

export async function listOldVideos(
  db: Db<Tables>,
  environment: Environment,
  before: Date,
): Promise<string[]> {
  const rows = await db
    .selectFrom('videos')
    .select('id')
    .where('environment', '=', environment)
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(1_000)
    .execute()
  return rows.map(({ id }) => id)
}
