import { hash } from 'node:crypto'
import { type Selectable, sql, type Transaction } from 'kysely'
import type { EncodingRow } from '../encoding/tables.ts'
import type { Environment } from '../environments.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { RenditionRow } from '../renditions/tables.ts'
import type { Tables } from '../tables.ts'
import type { SourceRow } from '../uploads/tables.ts'
import type { Clip, Metadata, VideoRow } from './tables.ts'

export const columns = [
  'id',
  'title',
  'description',
  'public',
  'panoramic',
  'mp4_support',
  'tags',
  'metadata',
  'player_id',
  'language',
  'source_type',
  'source_reference',
  'created_at',
  'updated_at',
] as const satisfies (keyof VideoRow)[]

/** A video as the API needs it. */
export type StoredVideo = Pick<Selectable<VideoRow>, (typeof columns)[number]>

/** What a search for a tag or a metadata pair looks up: hashes of one size, told apart by environment. */
const hashTerm = (term: string) => hash('sha256', term, 'hex').slice(0, 32)

export const tagTerms = (environment: Environment, tags: string[]) =>
  tags.map((tag) => hashTerm(`${environment} ${tag}`))

/** The key's length stands before it, so that no two pairs run together into one text. */
export const metadataTerms = (environment: Environment, metadata: Metadata[]) =>
  metadata.map(({ key, value }) => hashTerm(`${environment} ${key.length} ${key} ${value}`))

export type NewVideo = StoredVideo & {
  environment: Environment
  clip: Clip | null
  upload_token: string | null
}

// Counted in the same statement. Nothing is returned: the row is what it was given.
const insert = prepare(
  'insert-video',
  `with counted as (
     insert into video_count_changes (environment, tags, change) values ($2, $8, 1)
   )
   insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata, player_id,
                       language, source_type, source_reference, clip, created_at, updated_at,
                       tag_terms, metadata_terms, upload_token)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
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

/** For those who have no environment of their own: the address of an upload names its video alone. */
export async function findEnvironment(db: Db<Tables>, id: string): Promise<Environment | undefined> {
  const row = await db.selectFrom('videos').select('environment').where('id', '=', id).executeTakeFirst()
  return row?.environment
}

/** What decides whether somebody may upload into a video. */
export function findUploadTarget(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<Pick<VideoRow, 'id' | 'source_type' | 'upload_token'> | undefined> {
  return db
    .selectFrom('videos')
    .select(['id', 'source_type', 'upload_token'])
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export type VideoChange = Partial<Omit<StoredVideo, 'id' | 'created_at'>>

/** Undefined when there is no such video. Give a transaction: the counts of tags change with the tags. */
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

/** Whether a video was refused because there is no such player theme in its environment. */
export const isUnknownPlayer = (error: unknown) =>
  error instanceof Error && 'constraint' in error && error.constraint === 'videos_player'

/** The handle of what the video leaves in the file store, null if it has none; undefined when there is no such video. */
export async function deleteVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
): Promise<{ handle: string | null } | undefined> {
  const { rows } = await sql<{ handle: string | null }>`
    with gone as (
      delete from videos where id = ${id} and environment = ${environment} returning id, environment, tags
    ), counted as (
      insert into video_count_changes (environment, tags, change) select environment, tags, -1 from gone
    )
    select handle from gone left join sources on video_id = id`.execute(trx)
  return rows[0]
}

/** Whether the video exists, in any environment. */
export async function hasVideo(db: Db<Tables>, id: string): Promise<boolean> {
  const row = await db.selectFrom('videos').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

export type ReceivedSource = Pick<
  SourceRow,
  'form' | 'total' | 'size' | 'state' | 'failure' | 'received_pieces'
> & {
  /** Of an upload by parts: their numbers. */
  parts: number[]
  /** Of what comes by bytes. */
  ranges: { position: number; size: number }[]
}

/**
 * What of a video's content has arrived. Of a tus upload, which may consist of any number of tiny pieces, all that has
 * arrived without a gap is one range; the parts of an upload that is complete are known without reading them.
 */
export async function findReceived(db: Db<Tables>, videoId: string): Promise<ReceivedSource | undefined> {
  const { rows } = await sql<ReceivedSource>`
    select form, total, size, state, failure, received_pieces,
      case when form <> 'parts' then '{}'
           when state <> 'receiving' then array(select generate_series(1, received_pieces))
           else array(select position::integer from source_pieces p
                      where p.video_id = s.video_id and place is not null order by position)
      end as parts,
      case when form not in ('bytes', 'url') then '[]'
           when tus_metadata is not null and received_bytes = (
             select position + p.size from source_pieces p
             where p.video_id = s.video_id and place is not null order by position desc limit 1)
           then jsonb_build_array(jsonb_build_object('position', 0, 'size', received_bytes))
           else coalesce((
             select jsonb_agg(jsonb_build_object('position', position, 'size', p.size) order by position)
             from source_pieces p where p.video_id = s.video_id and place is not null), '[]')
      end as ranges
    from sources s where video_id = ${videoId}`.execute(db)
  return rows[0]
}

/** Where the content of a video is to be had from. */
export function findSourceOfVideo(
  db: Db<Tables>,
  videoId: string,
): Promise<Pick<StoredVideo, 'source_type' | 'source_reference'> | undefined> {
  return db
    .selectFrom('videos')
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

export type EncodingProgress = Pick<
  Selectable<EncodingRow>,
  'failure' | 'sound_failure' | 'media' | 'plan'
> & {
  renditions: Pick<RenditionRow, 'type' | 'quality' | 'state' | 'failure'>[]
  /** Of each quality and of the sound: how many segments there are, and whether the first one is. */
  encoded: { rendition: string; segments: number; hasFirst: boolean }[]
}

/** How far the encoding of a video is; undefined before it has begun. */
export async function findEncodingProgress(
  db: Db<Tables>,
  videoId: string,
): Promise<EncodingProgress | undefined> {
  const { rows } = await sql<EncodingProgress>`
    select failure, sound_failure, media, plan,
      coalesce((
        select jsonb_agg(jsonb_build_object('type', type, 'quality', quality, 'state', state, 'failure', failure)
                         order by type, height)
        from renditions r where r.video_id = e.video_id), '[]') as renditions,
      coalesce((
        select jsonb_agg(s) from (
          select rendition, sum(cardinality(sizes)) as segments, bool_or(first_segment = 0) as "hasFirst"
          from segments s where s.video_id = e.video_id group by rendition) s), '[]') as encoded
    from encodings e where video_id = ${videoId}`.execute(db)
  return rows[0]
}
