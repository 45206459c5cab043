import { sql } from 'kysely'
import { type Db, listPage } from '../../lib/db.ts'
import type { Page } from '../../lib/paging.ts'
import type { StoredLiveStream } from '../../live-streams/store.ts'
import type { Tables } from '../../tables.ts'
import type { StudioTokenRow } from '../tables.ts'

export async function insertToken(db: Db<Tables>, row: StudioTokenRow): Promise<void> {
  await db.insertInto('studio_tokens').values(row).execute()
}

/** Uses up a token of the live stream. False if it is unknown, expired or used. */
export async function openSession(
  db: Db<Tables>,
  { tokenHash, liveStreamId }: { tokenHash: Buffer; liveStreamId: string },
  { sessionHash, expiresAt, now }: { sessionHash: Buffer; expiresAt: Date; now: Date },
): Promise<boolean> {
  const opened = await db
    .updateTable('studio_tokens')
    .set({ session_hash: sessionHash, expires_at: expiresAt })
    .where('token_hash', '=', tokenHash)
    .where('live_stream_id', '=', liveStreamId)
    .where('session_hash', 'is', null)
    .where('expires_at', '>', now)
    .returning('live_stream_id')
    .executeTakeFirst()
  return opened !== undefined
}

/** The live stream that the session may broadcast to. */
export function findBySession(
  db: Db<Tables>,
  sessionHash: Buffer,
  now: Date,
): Promise<StoredLiveStream | undefined> {
  return db
    .selectFrom('live_streams')
    .innerJoin('studio_tokens', 'studio_tokens.live_stream_id', 'live_streams.id')
    .selectAll('live_streams')
    .where('studio_tokens.session_hash', '=', sessionHash)
    .where('studio_tokens.expires_at', '>', now)
    .executeTakeFirst()
}

/** Those that have not expired, the newest first. */
export async function listTokens(
  db: Db<Tables>,
  liveStreamId: string,
  page: Page,
  now: Date,
): Promise<{ tokens: StudioTokenRow[]; total: number }> {
  const valid = db
    .selectFrom('studio_tokens')
    .where('live_stream_id', '=', liveStreamId)
    .where('expires_at', '>', now)
  const { rows: tokens, total } = await listPage(
    db,
    valid,
    (query) => query.selectAll().orderBy('created_at', 'desc').orderBy('id'),
    page,
  )
  return { tokens, total }
}

/** Also ends its session. False if there is no such token. */
export async function deleteToken(db: Db<Tables>, liveStreamId: string, id: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('studio_tokens')
    .where('live_stream_id', '=', liveStreamId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function deleteTokens(db: Db<Tables>, liveStreamId: string): Promise<void> {
  await db.deleteFrom('studio_tokens').where('live_stream_id', '=', liveStreamId).execute()
}

export async function deleteExpired(db: Db<Tables>, now: Date): Promise<void> {
  await db.deleteFrom('studio_tokens').where('expires_at', '<', now).execute()
}

type LatestBroadcast = { id: string; state: 'live' | 'away' | 'ended'; isVisible: boolean }

export async function findLatestBroadcast(
  db: Db<Tables>,
  liveStreamId: string,
): Promise<LatestBroadcast | undefined> {
  const { rows } = await sql<LatestBroadcast>`
    select id, state, visible_at is not null as "isVisible" from broadcasts
    where live_stream_id = ${liveStreamId} order by started_at desc, id desc limit 1`.execute(db)
  return rows[0]
}
