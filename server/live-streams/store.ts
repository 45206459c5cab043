import { type Selectable, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { Metadata } from '../videos/tables.ts'
import type { sortKeys } from './schemas.ts'
import type { LiveStreamRow, Restream } from './tables.ts'

export type StoredLiveStream = Selectable<LiveStreamRow>

export async function insertLiveStream(db: Db<Tables>, row: StoredLiveStream): Promise<void> {
  await db
    .insertInto('live_streams')
    .values({ ...row, restreams: JSON.stringify(row.restreams), metadata: JSON.stringify(row.metadata) })
    .execute()
}

export type LiveStreamFilter = { name?: string | undefined; streamKey?: string | undefined }

const sortColumns = {
  name: sql`lower(name)`,
  createdAt: sql.ref('created_at'),
  updatedAt: sql.ref('updated_at'),
}

/** `name` matches any part of the name, as the title of a video does. */
export function listLiveStreams(
  db: Db<Tables>,
  environment: Environment,
  filter: LiveStreamFilter,
  { by, order }: { by: (typeof sortKeys)[number]; order: 'asc' | 'desc' },
  page: Page,
): Promise<{ rows: StoredLiveStream[]; total: number }> {
  const { name, streamKey } = filter
  const found = db
    .selectFrom('live_streams')
    .where('environment', '=', environment)
    .$if(streamKey !== undefined, (q) => q.where('stream_key', '=', streamKey!))
    .$if(name !== undefined, (q) => q.where(sql<boolean>`strpos(lower(name), lower(${name})) > 0`))
  return listPage(found, (q) => q.selectAll().orderBy(sortColumns[by], order).orderBy('id', order), page)
}

export function findLiveStream(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<StoredLiveStream | undefined> {
  return db
    .selectFrom('live_streams')
    .selectAll()
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export type LiveStreamChange = Partial<
  Pick<StoredLiveStream, 'name' | 'public' | 'record' | 'player_id' | 'stream_key' | 'show_viewers'> & {
    restreams: Restream[]
    metadata: Metadata[]
  }
>

/** Undefined if there is no such live stream. */
export function updateLiveStream(
  db: Db<Tables>,
  environment: Environment,
  id: string,
  { restreams, metadata, ...change }: LiveStreamChange,
  now: Date,
): Promise<StoredLiveStream | undefined> {
  return db
    .updateTable('live_streams')
    .set({ ...change, updated_at: now })
    .$if(restreams !== undefined, (q) => q.set({ restreams: JSON.stringify(restreams) }))
    .$if(metadata !== undefined, (q) => q.set({ metadata: JSON.stringify(metadata) }))
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returningAll()
    .executeTakeFirst()
}

export async function deleteLiveStream(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('live_streams')
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}
