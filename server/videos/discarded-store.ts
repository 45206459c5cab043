import { type RawBuilder, type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import {
  matches,
  maxListed,
  searchVideos,
  type VideoFilter,
  type VideoOrder,
  type VideoSearch,
} from './search-store.ts'
import { type StoredVideo, columns as videoColumns } from './store.ts'
import type { VideoRow } from './tables.ts'

const columns = [...videoColumns, 'discarded_at', 'deletes_at'] as const satisfies (keyof VideoRow)[]

export type DiscardedVideo = StoredVideo & { discarded_at: Date; deletes_at: Date }

/**
 * Discards the video until `deletesAt`, or until `maxAgeHours` after its creation if that is earlier. False when there is
 * no such video.
 */
export async function discardVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
  { now, deletesAt, maxAgeHours }: { now: Date; deletesAt: Date; maxAgeHours: number | undefined },
): Promise<boolean> {
  const end =
    maxAgeHours === undefined
      ? sql`${deletesAt}::timestamptz`
      : sql`least(${deletesAt}, created_at + ${maxAgeHours} * interval '1 hour')`
  const { rows } = await sql`
    with discarded as (
      update videos set discarded_at = ${now}, deletes_at = ${end}
      where id = ${id} and environment = ${environment} returning environment, tags
    ), counted as (
      insert into video_count_changes (environment, tags, change) select environment, tags, -1 from discarded
    )
    select from discarded`.execute(trx)
  return rows.length > 0
}

/** Undefined when there is no such discarded video, or its time is over. */
export async function restoreVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
  now: Date,
): Promise<StoredVideo | undefined> {
  const { rows } = await sql<StoredVideo>`
    with restored as (
      update all_videos set discarded_at = null, deletes_at = null
      where id = ${id} and environment = ${environment} and ${isRestorable(now)} returning *
    ), counted as (
      insert into video_count_changes (environment, tags, change) select environment, tags, 1 from restored
    )
    select ${sql.join(videoColumns.map((column) => sql.ref(column)))} from restored`.execute(trx)
  return rows[0]
}

/** The task that deletes discarded videos may run a little late. */
const isRestorable = (now: Date) => sql<boolean>`discarded_at is not null and deletes_at > ${now}`

export async function findDiscarded(
  db: Db<Tables>,
  environment: Environment,
  id: string,
  now: Date,
): Promise<DiscardedVideo | undefined> {
  const row = await db
    .selectFrom('all_videos')
    .select(columns)
    .where('id', '=', id)
    .where('environment', '=', environment)
    .where(isRestorable(now))
    .executeTakeFirst()
  return row as DiscardedVideo | undefined
}

export function listDiscarded(
  db: Db<Tables>,
  { environment, now }: { environment: Environment; now: Date },
  filter: VideoFilter,
  order: VideoOrder,
  page: Page,
): Promise<{ videos: DiscardedVideo[]; total: number }> {
  const isMatch = (isCommon: boolean) =>
    sql<boolean>`${matches(environment, filter, isCommon)} and ${isRestorable(now)}`
  const found: VideoSearch<DiscardedVideo> = {
    table: 'all_videos',
    columns,
    environment,
    where: isMatch(false),
    whereCommon: isMatch(true),
    // The index of discarded videos limits what has to be read.
    isScanned: false,
    maxListed: maxListed(filter),
  }
  return searchVideos(db, found, order, page)
}

export async function listExpired(db: Db<Tables>, now: Date, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('all_videos')
    .select('id')
    .where('discarded_at', 'is not', null)
    .where('deletes_at', '<=', now)
    .orderBy('deletes_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

type Deleted = {
  /** Of its upload in the file store, if it has one. */
  handle: string | null
}

/** Undefined when there is no such discarded video, or its time is over. */
export const deleteDiscarded = (trx: Transaction<Tables>, environment: Environment, id: string, now: Date) =>
  deleteIf(trx, id, sql`environment = ${environment} and ${isRestorable(now)}`)

/** Deletes a discarded video whose time is over. Undefined if it was restored in the meantime. */
export const deleteExpired = (trx: Transaction<Tables>, id: string, now: Date) =>
  deleteIf(trx, id, sql`deletes_at <= ${now}`)

async function deleteIf(
  trx: Transaction<Tables>,
  id: string,
  condition: RawBuilder<unknown>,
): Promise<Deleted | undefined> {
  const { rows } = await sql<Deleted>`
    with deleted as (delete from all_videos where id = ${id} and ${condition} returning id)
    select handle from deleted left join sources on video_id = id`.execute(trx)
  return rows[0]
}

export async function isDiscarded(db: Db<Tables>, id: string): Promise<boolean> {
  const row = await db.selectFrom('all_videos').select('discarded_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.discarded_at !== null
}

/**
 * Keeps the video from being discarded, restored or deleted until the end of the transaction. Call it before anything
 * else of the video is locked. Undefined when there is no such video.
 */
export async function lockDiscardState(
  trx: Transaction<Tables>,
  id: string,
): Promise<{ isDiscarded: boolean } | undefined> {
  const row: Pick<Selectable<VideoRow>, 'discarded_at'> | undefined = await trx
    .selectFrom('all_videos')
    .select('discarded_at')
    .where('id', '=', id)
    .forShare()
    .executeTakeFirst()
  return row && { isDiscarded: row.discarded_at !== null }
}
