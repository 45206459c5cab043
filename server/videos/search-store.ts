import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import { isId } from '../lib/ids.ts'
import type { Page } from '../lib/paging.ts'
import { stateConditions, type VideoState } from '../renditions/state-store.ts'
import type { Tables } from '../tables.ts'
import { maxFound, type sortKeys, type sortOrders } from './filters.ts'
import { columns, metadataTerms, type StoredVideo, tagTerms } from './store.ts'

export type VideoFilter = {
  /** Words that must all occur in the texts of the video, or the id of a video. */
  search?: string
  title?: string
  description?: string
  tags?: string[]
  metadata?: Record<string, string>
  liveStreamId?: string
  playerId?: string
  public?: boolean
  status?: VideoState
  createdAfter?: Date
  createdBefore?: Date
}

export type VideoOrder = { by: (typeof sortKeys)[number]; order: (typeof sortOrders)[number] }

/** Matches any part of the text. The wildcards of LIKE are escaped. */
const containing = (part: string) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`

const eb = expressionBuilder<Tables, 'videos'>()

export function matches(environment: Environment, filter: VideoFilter) {
  const pairs = Object.entries(filter.metadata ?? {}).map(([key, value]) => ({ key, value }))
  const conditions: Expression<SqlBool>[] = [eb('environment', '=', environment)]
  if (filter.tags) conditions.push(eb('tag_terms', '@>', uuids(tagTerms(environment, filter.tags))))
  if (pairs.length > 0) conditions.push(eb('metadata_terms', '@>', uuids(metadataTerms(environment, pairs))))
  if (filter.search) conditions.push(isFound(filter.search))
  if (filter.title) conditions.push(...contains('title', filter.title))
  if (filter.description) conditions.push(...contains('description', filter.description))
  if (filter.liveStreamId !== undefined) {
    conditions.push(eb('source_type', '=', 'liveStream'), eb('source_reference', '=', filter.liveStreamId))
  }
  if (filter.playerId !== undefined) conditions.push(eb('player_id', '=', filter.playerId))
  if (filter.public !== undefined) conditions.push(eb('public', '=', filter.public))
  if (filter.status) conditions.push(sql.raw(stateConditions[filter.status]))
  if (filter.createdAfter) conditions.push(eb('created_at', '>=', filter.createdAfter))
  if (filter.createdBefore) conditions.push(eb('created_at', '<', filter.createdBefore))
  return eb.and(conditions)
}

/** Each word may be in any of the texts. */
function isFound(search: string): Expression<SqlBool> {
  const words = [...new Set(search.split(/\s+/))]
  const isEachFound = eb.and(words.map((word) => sql<boolean>`search_text like fold(${containing(word)})`))
  return isId('vi', search) ? eb.or([isEachFound, eb('id', '=', search)]) : isEachFound
}

/**
 * A trigram index looks up every trigram of a pattern, and the trigrams of common words cost the most: on a million
 * videos 16 ms instead of 1. So only some trigrams of the longest words are looked up, and the rows are then compared
 * with the entire pattern. Appending '' keeps that comparison out of the index.
 */
function contains(column: 'title' | 'description', part: string) {
  const trigrams = selectiveTrigrams(part)
  const pattern = containing(part)
  if (trigrams.length === 0) return [eb(column, 'ilike', pattern)]
  return [
    eb(column, 'ilike', `%${trigrams.join('%')}%`),
    eb(sql<string>`${sql.ref(column)} || ''`, 'ilike', pattern),
  ]
}

/** The beginnings and ends of the two longest words, in the order of the text. */
export function selectiveTrigrams(part: string): string[] {
  return [...part.matchAll(/[\p{L}\p{N}]{3,}/gu)]
    .toSorted((a, b) => b[0].length - a[0].length)
    .slice(0, 2)
    .toSorted((a, b) => a.index - b.index)
    .flatMap(([word]) => {
      // By code points: half of a surrogate pair would match nothing.
      const letters = [...word]
      return letters.length < 6 ? [word] : [letters.slice(0, 3).join(''), letters.slice(-3).join('')]
    })
}

const uuids = (terms: string[]) => sql<string[]>`${terms}::uuid[]`

const orderColumns = {
  title: sql<string>`lower(left(title, 100))`,
  createdAt: sql<Date>`created_at`,
  publishedAt: sql<Date>`created_at`,
  updatedAt: sql<Date>`updated_at`,
}

/** One page, and the total number of videos. */
export async function listVideos(
  db: Db<Tables>,
  environment: Environment,
  filter: VideoFilter,
  order: VideoOrder,
  page: Page,
): Promise<{ videos: StoredVideo[]; total: number }> {
  const found = { table: 'videos', columns, where: matches(environment, filter) } as const
  if (filter.search) return searchText(db, found, order, page)
  const tag = countedTag(filter)
  if (tag === undefined) return searchVideos(db, found, order, page)
  const list = () => pageOfVideos(db, found, order, page)
  // The first page is read while the videos are counted. A later page may be past the end, and is then not read.
  const [total, first] = await Promise.all([
    countByTag(db, environment, tag),
    page.offset === 0 ? list() : undefined,
  ])
  return { videos: first ?? (page.offset < total ? await list() : []), total }
}

/** The numbers of all videos and of those with one tag are stored: the tag '' means all. */
function countedTag({ tags, ...others }: VideoFilter): string | undefined {
  if (Object.values(others).some((value) => value !== undefined && value !== '')) return undefined
  const [tag = '', ...more] = new Set(tags)
  return more.length > 0 ? undefined : tag
}

/** The videos to search among, and the columns to select. */
export type VideoSearch<Row> = {
  table: 'videos' | 'all_videos'
  columns: readonly (keyof Row & string)[]
  where: Expression<SqlBool>
}

/** Reads the videos in their order until the page is full. */
async function pageOfVideos<Row extends StoredVideo>(
  db: Db<Tables>,
  { table, columns, where }: VideoSearch<Row>,
  { by, order }: VideoOrder,
  page: Page,
): Promise<Row[]> {
  const direction = sql.raw(order)
  const { rows } = await sql<Row>`
    select ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)} where ${where}
    order by ${orderColumns[by]} ${direction}, id ${direction}
    limit ${page.pageSize} offset ${page.offset}`.execute(db)
  return rows
}

/** Materializes the matching videos once, to count them and to select the page. More than `most` are not counted. */
export async function searchVideos<Row extends StoredVideo>(
  db: Db<Tables>,
  { table, columns, where }: VideoSearch<Row>,
  { by, order }: VideoOrder,
  page: Page,
  most?: number,
): Promise<{ videos: Row[]; total: number }> {
  const direction = sql.raw(order)
  const { rows } = await sql<Row & { total: string; id: string | null }>`
    with hits as materialized (
      select id, ${orderColumns[by]} as place from ${sql.table(table)} where ${where} ${most === undefined ? sql`` : sql`limit ${most}`}
    ), page as (
      select id, place from hits order by place ${direction}, id ${direction}
      limit ${page.pageSize} offset ${page.offset}
    )
    select total, ${sql.join(columns.map((column) => sql.ref(`v.${column}`)))}
    from (select count(*) as total from hits) as counted
    left join page on true
    left join ${sql.table(table)} v on v.id = page.id
    order by page.place ${direction}, page.id ${direction}`.execute(db)
  // A page without videos has one row with nothing but the total.
  return { videos: rows.filter((row) => row.id !== null), total: Number(rows[0]?.total) }
}

/**
 * A search while somebody types must not become slower with the number of results: more than `maxFound` are neither
 * counted nor listed. A word that so many videos have is soon found by reading the videos in their order.
 */
export async function searchText<Row extends StoredVideo>(
  db: Db<Tables>,
  found: VideoSearch<Row>,
  order: VideoOrder,
  page: Page,
): Promise<{ videos: Row[]; total: number }> {
  const result = await searchVideos(db, found, order, page, maxFound + 1)
  if (result.total <= maxFound) return result
  const videos = page.offset < maxFound ? await pageOfVideos(db, found, order, page) : []
  return { videos: videos.slice(0, maxFound - page.offset), total: maxFound }
}

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

/** Adds the appended changes to the counts. Any number of processes may do this concurrently. */
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
  // A page past the end has no row with the total.
  if (rows.length === 0 && page.offset > 0) {
    const { total } = await listTags(db, environment, filter, { by, order }, { ...page, offset: 0 })
    return { tags: [], total }
  }
  return {
    tags: rows.map(({ value, videoCount }) => ({ value, videoCount: Number(videoCount) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
