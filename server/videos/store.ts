import { createHash } from 'node:crypto'
import { type ExpressionBuilder, type Selectable, sql, type Transaction } from 'kysely'
import type { Clip, Environment, Metadata, SourceType, Tables, VideoRow } from '../contracts/tables.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { sortKeys, sortOrders } from './schemas.ts'

const columns = [
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

export type VideoFilter = {
  title?: string
  description?: string
  tags?: string[]
  metadata?: Record<string, string>
  liveStreamId?: string
}

export type VideoOrder = { by: (typeof sortKeys)[number]; order: (typeof sortOrders)[number] }

/** Any part of the text; the wildcards of LIKE mean themselves. */
const containing = (part: string) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`

function matches(environment: Environment, filter: VideoFilter) {
  const pairs = Object.entries(filter.metadata ?? {}).map(([key, value]) => ({ key, value }))
  return (eb: ExpressionBuilder<Tables, 'videos'>) => {
    const conditions = [eb('environment', '=', environment)]
    if (filter.tags) conditions.push(eb('tag_terms', '@>', uuids(tagTerms(environment, filter.tags))))
    if (pairs.length > 0)
      conditions.push(eb('metadata_terms', '@>', uuids(metadataTerms(environment, pairs))))
    if (filter.title) conditions.push(...contains(eb, 'title', filter.title))
    if (filter.description) conditions.push(...contains(eb, 'description', filter.description))
    if (filter.liveStreamId !== undefined) {
      conditions.push(eb('source_type', '=', 'liveStream'), eb('source_reference', '=', filter.liveStreamId))
    }
    return eb.and(conditions)
  }
}

/**
 * The index of three-letter groups looks up every group of a pattern, and those of words that most titles have
 * cost the most: on a million videos 16 ms instead of 1. So it is asked for a few groups of the longest words
 * only, and what it finds is compared with the whole; adding '' keeps that comparison out of the index.
 */
function contains(eb: ExpressionBuilder<Tables, 'videos'>, column: 'title' | 'description', part: string) {
  const groups = tellingGroups(part)
  const whole = containing(part)
  if (groups.length === 0) return [eb(column, 'ilike', whole)]
  return [
    eb(column, 'ilike', `%${groups.join('%')}%`),
    eb(sql<string>`${sql.ref(column)} || ''`, 'ilike', whole),
  ]
}

/** The beginnings and ends of the two longest words, in their order. */
export function tellingGroups(part: string): string[] {
  return [...part.matchAll(/[\p{L}\p{N}]{3,}/gu)]
    .toSorted((a, b) => b[0].length - a[0].length)
    .slice(0, 2)
    .toSorted((a, b) => a.index - b.index)
    .flatMap(([word]) => {
      // By letters, not by code units: half of a letter would match nothing.
      const letters = [...word]
      return letters.length < 6 ? [word] : [letters.slice(0, 3).join(''), letters.slice(-3).join('')]
    })
}

const uuids = (terms: string[]) => sql<string[]>`${terms}::uuid[]`

const orderColumns = {
  title: sql`lower(left(title, 100))`,
  createdAt: sql`created_at`,
  publishedAt: sql`published_at`,
  updatedAt: sql`updated_at`,
}

export function listVideos(
  db: Db<Tables>,
  environment: Environment,
  filter: VideoFilter,
  { by, order }: VideoOrder,
  page: Page,
): Promise<StoredVideo[]> {
  return db
    .selectFrom('videos')
    .select(columns)
    .where(matches(environment, filter))
    .orderBy(orderColumns[by], order)
    .orderBy('id', order)
    .limit(page.pageSize)
    .offset(page.offset)
    .execute()
}

/** All videos, and those of one tag, are counted beforehand; any other filter counts what its index finds. */
export async function countVideos(
  db: Db<Tables>,
  environment: Environment,
  filter: VideoFilter,
): Promise<number> {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  const tags = new Set(filter.tags)
  if (given.length === 0) return countByTag(db, environment, '')
  if (given.length === 1 && tags.size === 1) return countByTag(db, environment, [...tags].join())
  const { total } = await db
    .selectFrom('videos')
    .select((eb) => eb.fn.countAll<string>().as('total'))
    .where(matches(environment, filter))
    .executeTakeFirstOrThrow()
  return Number(total)
}

/** The tag '' stands for all videos. */
async function countByTag(db: Db<Tables>, environment: Environment, tag: string): Promise<number> {
  const { rows } = await sql<{ total: string }>`
    select coalesce(sum(n), 0) as total from (
      select videos as n from video_counts where environment = ${environment} and tag = ${tag}
      union all
      select change from video_count_changes
      where environment = ${environment} and (${tag} = '' or tags @> array[${tag}])
    ) as c`.execute(db)
  return Number(rows[0]?.total)
}

/** Adds the appended changes to the counts. Any number of processes may do it at once. */
export async function mergeCounts(db: Db<Tables>): Promise<void> {
  await sql`
    with merged as (
      delete from video_count_changes
      where ctid = any (array(select ctid from video_count_changes limit 100000 for update skip locked))
      returning environment, tags, change
    )
    insert into video_counts as c (environment, tag, videos)
    select environment, tag, sum(change) from merged, unnest(tags || ''::text) as tag
    group by environment, tag order by environment, tag
    on conflict (environment, tag) do update set videos = c.videos + excluded.videos`.execute(db)
  await sql`delete from video_counts where videos = 0`.execute(db)
}

export type TagFilter = { value?: string }
export type TagOrder = { by: 'value' | 'videoCount'; order: (typeof sortOrders)[number] }

export async function listTags(
  db: Db<Tables>,
  environment: Environment,
  filter: TagFilter,
  { by, order }: TagOrder,
  page: Page,
): Promise<{ tags: { value: string; videoCount: number }[]; total: number }> {
  const fits = filter.value ? sql`fold(tag) like fold(${containing(filter.value)})` : sql`true`
  const orderBy = {
    value: { asc: sql`lower(tag), tag`, desc: sql`lower(tag) desc, tag desc` },
    videoCount: { asc: sql`sum(n), tag`, desc: sql`sum(n) desc, tag desc` },
  }[by][order]
  const { rows } = await sql<{ value: string; videoCount: string; total: string }>`
    select tag as value, sum(n) as "videoCount", count(*) over () as total from (
      select tag, videos as n from video_counts where environment = ${environment} and tag <> '' and ${fits}
      union all
      select tag, change from video_count_changes, unnest(tags) as tag where environment = ${environment} and ${fits}
    ) as c
    group by tag having sum(n) > 0
    order by ${orderBy} limit ${page.pageSize} offset ${page.offset}`.execute(db)
  // A page past the end has no row that could carry the total.
  if (rows.length === 0 && page.offset > 0) {
    const { total } = await listTags(db, environment, filter, { by, order }, { ...page, offset: 0 })
    return { tags: [], total }
  }
  return {
    tags: rows.map(({ value, videoCount }) => ({ value, videoCount: Number(videoCount) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
