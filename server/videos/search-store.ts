import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { containing, type Db } from '../lib/db.ts'
import { isId } from '../lib/ids.ts'
import { type Page, totalOf } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import { countByTag } from './count-store.ts'
import { maxFound, maxScanned, type sortKeys, type sortOrders } from './filters.ts'
import { stateFilters, type VideoState } from './state-store.ts'
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

const eb = expressionBuilder<Tables, 'videos'>()

/** `isCommon`: for reading videos in their order, because so many match that an index finds too many. */
export function matches(environment: Environment, filter: VideoFilter, isCommon = false) {
  const pairs = Object.entries(filter.metadata ?? {}).map(([key, value]) => ({ key, value }))
  const conditions: Expression<SqlBool>[] = [eb('environment', '=', environment)]
  if (filter.tags) conditions.push(eb('tag_terms', '@>', uuids(tagTerms(environment, filter.tags))))
  if (pairs.length > 0) conditions.push(eb('metadata_terms', '@>', uuids(metadataTerms(environment, pairs))))
  if (filter.search) conditions.push(isFound(filter.search))
  const textCondition = isCommon ? containsCommon : contains
  if (filter.title) conditions.push(...textCondition('title', filter.title))
  if (filter.description) conditions.push(...textCondition('description', filter.description))
  if (filter.liveStreamId !== undefined) {
    conditions.push(eb('source_type', '=', 'liveStream'), eb('source_reference', '=', filter.liveStreamId))
  }
  if (filter.playerId !== undefined) conditions.push(eb('player_id', '=', filter.playerId))
  if (filter.public !== undefined) conditions.push(eb('public', '=', filter.public))
  if (filter.status) conditions.push(sql.raw(stateFilters[filter.status]))
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

/** The plain condition, for which Postgres estimates well how many videos it must read until a page is full. */
const containsCommon = (column: 'title' | 'description', part: string) => [
  eb(column, 'ilike', containing(part)),
]

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
  title: sql<string>`sort_title`,
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
  const found: VideoSearch<StoredVideo> = {
    table: 'videos',
    columns,
    environment,
    where: matches(environment, filter),
    whereCommon: matches(environment, filter, true),
    isScanned: !isIndexed(filter),
    maxListed: maxListed(filter),
  }
  const tag = countedTag(filter)
  if (tag === undefined) return searchVideos(db, found, order, page)
  const total = await countByTag(db, environment, tag)
  return { videos: page.offset < total ? await pageOfVideos(db, found, order, page) : [], total }
}

export const maxListed = ({ search }: VideoFilter) => (search ? maxFound : Number.POSITIVE_INFINITY)

/** The numbers of all videos and of those with one tag are stored: the tag '' means all. */
function countedTag({ tags, ...others }: VideoFilter): string | undefined {
  if (Object.values(others).some((value) => value !== undefined && value !== '')) return undefined
  const [tag = '', ...more] = new Set(tags)
  return more.length > 0 ? undefined : tag
}

/**
 * Whether an index finds the videos, or the filter has no text to look for. The indexes of texts contain groups of three
 * letters or digits, which shorter texts do not have.
 */
function isIndexed({ search, title, description, ...others }: VideoFilter): boolean {
  const texts = [search, title, description].filter((text) => !!text)
  const isFoundOtherwise = [others.tags, others.metadata, others.liveStreamId, others.playerId].some(Boolean)
  return texts.length === 0 || isFoundOtherwise || texts.some((text) => selectiveTrigrams(text!).length > 0)
}

/** The videos to search among, and the columns to select. */
export type VideoSearch<Row> = {
  table: 'videos' | 'all_videos'
  columns: readonly (keyof Row & string)[]
  environment: Environment
  where: Expression<SqlBool>
  /** The same condition for reading the videos in their order. */
  whereCommon: Expression<SqlBool>
  /** Whether each video has to be read, because no index helps. */
  isScanned: boolean
  /** Videos after these are not listed. */
  maxListed: number
}

/** Reads the videos in their order until the page is full. */
async function pageOfVideos<Row extends StoredVideo>(
  db: Db<Tables>,
  { table, columns, whereCommon }: VideoSearch<Row>,
  { by, order }: VideoOrder,
  page: Pick<Page, 'pageSize' | 'offset'>,
): Promise<Row[]> {
  const direction = sql.raw(order)
  // Only ids at first, because without a filter the index alone has them, and skipping a million of them is fast.
  const { rows } = await sql<Row>`
    with page as (
      select id, ${orderColumns[by]} as place from ${sql.table(table)} where ${whereCommon}
      order by ${orderColumns[by]} ${direction}, id ${direction} limit ${page.pageSize} offset ${page.offset}
    )
    select ${sql.join(columns.map((column) => sql.ref(`v.${column}`)))}
    from page join ${sql.table(table)} v on v.id = page.id
    order by page.place ${direction}, page.id ${direction}`.execute(db)
  return rows
}

/**
 * A list must not become slower with the number of results. Up to `maxFound` are counted and sorted. If there are more,
 * the total is that number, or what this page has reached, and the videos are read in their order: a text that so many
 * videos have is soon found.
 */
export async function searchVideos<Row extends StoredVideo>(
  db: Db<Tables>,
  found: VideoSearch<Row>,
  order: VideoOrder,
  page: Page,
): Promise<{ videos: Row[]; total: number }> {
  const result = await sortFew(db, found, order, page)
  if (result.total <= maxFound) return result
  const { pageSize, offset } = page
  // One more shows whether there is another page.
  const end = Math.min(offset + pageSize + 1, found.maxListed)
  const rows = offset < end ? await pageOfVideos(db, found, order, { pageSize: end - offset, offset }) : []
  return { videos: rows.slice(0, pageSize), total: totalOf(result.total, page, rows.length) }
}

/** Materializes the matching videos once, to count them and to select the page, unless there are too many. */
async function sortFew<Row extends StoredVideo>(
  db: Db<Tables>,
  found: VideoSearch<Row>,
  { by, order }: VideoOrder,
  page: Page,
): Promise<{ videos: Row[]; total: number }> {
  const direction = sql.raw(order)
  const { rows } = await sql<Row & { total: string; id: string | null }>`
    with hits as materialized (
      select id, ${orderColumns[by]} as place from ${candidates(found, { by, order })}
      where ${found.where} limit ${maxFound + 1}
    ), page as (
      select id, place from hits order by place ${direction}, id ${direction}
      limit ${page.pageSize} offset ${page.offset}
    )
    select total, ${sql.join(found.columns.map((column) => sql.ref(`v.${column}`)))}
    from (select count(*) as total from hits) as counted
    left join page on true
    left join ${sql.table(found.table)} v on v.id = page.id
    order by page.place ${direction}, page.id ${direction}`.execute(db)
  // A page without videos has one row with nothing but the total.
  return { videos: rows.filter((row) => row.id !== null), total: Number(rows[0]?.total) }
}

/** All videos, or the first ones in the order if each of them has to be read. */
function candidates<Row>({ table, environment, isScanned }: VideoSearch<Row>, { by, order }: VideoOrder) {
  if (!isScanned) return sql.table(table)
  const direction = sql.raw(order)
  return sql`(
    select * from ${sql.table(table)} where environment = ${environment}
    order by ${orderColumns[by]} ${direction}, id ${direction} limit ${maxScanned}) as ${sql.table(table)}`
}
