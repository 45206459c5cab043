import { type Selectable, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { Metadata } from '../videos/tables.ts'
import type { sortKeys } from './schemas.ts'
import type { LiveStreamRow, Refusal, Restream } from './tables.ts'

export type StoredLiveStream = Selectable<LiveStreamRow>

/** With what a response needs besides the row. */
export type LiveStreamDetails = StoredLiveStream & { broadcasting: boolean }

const broadcasting = sql<boolean>`exists (
  select from broadcasts b
  where b.live_stream_id = live_streams.id and b.visible_at is not null and b.state <> 'ended')`

export async function insertLiveStream(db: Db<Tables>, row: StoredLiveStream): Promise<void> {
  await db
    .insertInto('live_streams')
    .values({
      ...row,
      last_refusal: null,
      restreams: JSON.stringify(row.restreams),
      metadata: JSON.stringify(row.metadata),
    })
    .execute()
}

export type LiveStreamFilter = { name?: string | undefined; streamKey?: string | undefined }

const sortColumns = {
  name: sql`lower(name)`,
  createdAt: sql.ref('created_at'),
  updatedAt: sql.ref('updated_at'),
  broadcasting,
}

/** `name` matches any part of the name, as the title of a video does. */
export function listLiveStreams(
  db: Db<Tables>,
  environment: Environment,
  filter: LiveStreamFilter,
  { by, order }: { by: (typeof sortKeys)[number]; order: 'asc' | 'desc' },
  page: Page,
): Promise<{ rows: LiveStreamDetails[]; total: number }> {
  const { name, streamKey } = filter
  const found = db
    .selectFrom('live_streams')
    .where('environment', '=', environment)
    .$if(streamKey !== undefined, (q) => q.where('stream_key', '=', streamKey!))
    .$if(name !== undefined, (q) => q.where(sql<boolean>`strpos(lower(name), lower(${name})) > 0`))
  return listPage(
    db,
    found,
    (q) =>
      q
        .selectAll()
        .select(broadcasting.as('broadcasting'))
        .orderBy(sortColumns[by], order)
        .orderBy('created_at', order)
        .orderBy('id', order),
    page,
  )
}

export function findLiveStream(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<LiveStreamDetails | undefined> {
  return db
    .selectFrom('live_streams')
    .selectAll()
    .select(broadcasting.as('broadcasting'))
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export type LivePreview = { name: string; public: boolean; thumbnailStart: Buffer | null }

/** What link previews show, in any environment. The size of an image is at its start. */
export async function findLivePreview(db: Db<Tables>, id: string): Promise<LivePreview | undefined> {
  const { rows } = await sql<LivePreview>`
    select s.name, s.public, substring(t.data for 4096) as "thumbnailStart"
    from live_streams s left join live_thumbnails t on t.live_stream_id = s.id
    where s.id = ${id}`.execute(db)
  return rows[0]
}

export async function findByStreamKey(
  db: Db<Tables>,
  streamKey: string,
): Promise<StoredLiveStream | undefined> {
  // Postgres has no such text.
  if (streamKey.includes('\0')) return undefined
  return db.selectFrom('live_streams').selectAll().where('stream_key', '=', streamKey).executeTakeFirst()
}

export type LiveStreamChange = Partial<
  Pick<
    StoredLiveStream,
    'name' | 'public' | 'record' | 'player_id' | 'stream_key' | 'show_viewers' | 'srt_passphrase'
  > & {
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
): Promise<LiveStreamDetails | undefined> {
  return db
    .updateTable('live_streams')
    .set({ ...change, updated_at: now })
    .$if(restreams !== undefined, (q) => q.set({ restreams: JSON.stringify(restreams) }))
    .$if(metadata !== undefined, (q) => q.set({ metadata: JSON.stringify(metadata) }))
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returningAll()
    .returning(broadcasting.as('broadcasting'))
    .executeTakeFirst()
}

export async function recordRefusal(db: Db<Tables>, id: string, refusal: Refusal): Promise<void> {
  await db
    .updateTable('live_streams')
    .set({ last_refusal: JSON.stringify(refusal) })
    .where('id', '=', id)
    .execute()
}

export async function deleteLiveStream(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<StoredLiveStream | undefined> {
  return db
    .deleteFrom('live_streams')
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returningAll()
    .executeTakeFirst()
}

/** Keeps what recordings need of a live stream that was deleted. */
export async function keepForRecordings(
  db: Db<Tables>,
  { id, name, public: isPublic, player_id: playerId }: StoredLiveStream,
): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ deleted_stream: JSON.stringify({ name, public: isPublic, playerId }) })
    .where('live_stream_id', '=', id)
    .execute()
}

/** False if the live stream was deleted in the meantime. */
export async function saveThumbnail(db: Db<Tables>, id: string, data: Buffer): Promise<boolean> {
  const { rows } = await sql`
    insert into live_thumbnails (live_stream_id, data)
    select id, ${data} from live_streams where id = ${id} for key share
    on conflict (live_stream_id) do update set data = excluded.data returning live_stream_id`.execute(db)
  return rows.length > 0
}

export async function deleteThumbnail(db: Db<Tables>, id: string): Promise<void> {
  await db.deleteFrom('live_thumbnails').where('live_stream_id', '=', id).execute()
}

export async function findThumbnail(db: Db<Tables>, id: string): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('live_thumbnails')
    .select('data')
    .where('live_stream_id', '=', id)
    .executeTakeFirst()
  return row?.data
}

/** Tells the other processes that a broadcast has begun, changed its state or ended. */
export const liveChannel = 'kinora_live'

export const notifyLive = (db: Db<Tables>) => sql`select pg_notify(${liveChannel}, '')`.execute(db)

/** The current broadcast of the stream ends: by its owner, or by any process if the encoder is disconnected. */
export async function requestEnd(db: Db<Tables>, liveStreamId: string): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ completing: true })
    .where('live_stream_id', '=', liveStreamId)
    .where('state', '<>', 'ended')
    .execute()
  await notifyLive(db)
}
