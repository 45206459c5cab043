import { createHash } from 'node:crypto'
import { type Selectable, sql, type Transaction } from 'kysely'
import type { Clip, Environment, Metadata, SourceType, Tables, VideoRow } from '../contracts/tables.ts'
import { type Db, prepare } from '../lib/db.ts'

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
  'published_at',
] as const satisfies (keyof VideoRow)[]

/** A video as the API needs it. */
export type StoredVideo = Pick<Selectable<VideoRow>, (typeof columns)[number]>

/** What a search for a tag or a metadata pair looks up: hashes of one size, told apart by environment. */
const hashTerm = (term: string) => createHash('sha256').update(term).digest('hex').slice(0, 32)

export const tagTerms = (environment: Environment, tags: string[]) =>
  tags.map((tag) => hashTerm(`${environment} ${tag}`))

/** The key's length stands before it, so that no two pairs run together into one text. */
export const metadataTerms = (environment: Environment, metadata: Metadata[]) =>
  metadata.map(({ key, value }) => hashTerm(`${environment} ${key.length} ${key} ${value}`))

export type NewVideo = {
  id: string
  environment: Environment
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4Support: boolean
  tags: string[]
  metadata: Metadata[]
  playerId: string | null
  language: string | null
  sourceType: SourceType
  sourceReference: string | null
  clip: Clip | null
  createdAt: Date
}

// Counted in the same statement.
const insert = prepare<StoredVideo>(
  'insert-video',
  `with counted as (
     insert into video_count_changes (environment, tags, change) values ($2, $8, 1)
   )
   insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata, player_id,
                       language, source_type, source_reference, clip, created_at, updated_at, published_at,
                       tag_terms, metadata_terms)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $15, $16, $17)
   returning ${columns.join(', ')}`,
)

export async function insertVideo(db: Db<Tables>, video: NewVideo): Promise<StoredVideo> {
  const [row] = await insert(db, [
    video.id,
    video.environment,
    video.title,
    video.description,
    video.public,
    video.panoramic,
    video.mp4Support,
    video.tags,
    JSON.stringify(video.metadata),
    video.playerId,
    video.language,
    video.sourceType,
    video.sourceReference,
    video.clip && JSON.stringify(video.clip),
    video.createdAt,
    tagTerms(video.environment, video.tags),
    metadataTerms(video.environment, video.metadata),
  ])
  return row!
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

export type VideoChange = Partial<Omit<NewVideo, 'id' | 'environment' | 'createdAt'>> & { updatedAt: Date }

/** Undefined when there is no such video. Give a transaction: the counts of tags change with the tags. */
export async function updateVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
  change: VideoChange,
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
      title: change.title,
      description: change.description,
      public: change.public,
      panoramic: change.panoramic,
      mp4_support: change.mp4Support,
      tags: change.tags,
      tag_terms: change.tags && tagTerms(environment, change.tags),
      metadata: change.metadata && JSON.stringify(change.metadata),
      metadata_terms: change.metadata && metadataTerms(environment, change.metadata),
      player_id: change.playerId,
      language: change.language,
      updated_at: change.updatedAt,
    })
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning(columns)
    .executeTakeFirst()
}

export async function deleteVideo(db: Db<Tables>, environment: Environment, id: string): Promise<boolean> {
  const { rows } = await sql`
    with gone as (
      delete from videos where id = ${id} and environment = ${environment} returning environment, tags
    ), counted as (
      insert into video_count_changes (environment, tags, change) select environment, tags, -1 from gone
    )
    select 1 from gone`.execute(db)
  return rows.length > 0
}
