import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { type Db, prepare } from '../lib/db.ts'
import { maxEntries } from '../lib/lru.ts'
import type { Tables } from '../tables.ts'
import type { PlaybackSessionRow } from './tables.ts'

export type PlaybackSession = Pick<PlaybackSessionRow, 'session' | 'viewer' | 'opened_at'>

// A session never changes, and nobody looks up the session of a deleted video.
const cache = new LRUCache<string, PlaybackSession>(maxEntries(10_000))

const find = prepare<PlaybackSession>(
  'find-playback-session',
  'select session, viewer, opened_at from playback_sessions where token = $1',
)

/** Undefined until the token is used. */
export async function findSession(db: Db<Tables>, token: string): Promise<PlaybackSession | undefined> {
  const cached = cache.get(token)
  if (cached) return cached
  const [row] = await find(db, [token])
  if (row) cache.set(token, row)
  return row
}

// The video or live stream may have been deleted in the meantime.
const insertFor = (table: 'videos' | 'live_streams', column: 'video_id' | 'live_stream_id') =>
  prepare(
    `insert-playback-session-${column}`,
    `insert into playback_sessions (token, ${column}, session, viewer, opened_at)
     select $1, id, $3, $4, $5 from ${table} where id = $2 for key share
     on conflict do nothing`,
  )
const insertForVideo = insertFor('videos', 'video_id')
const insertForLiveStream = insertFor('live_streams', 'live_stream_id')

type NewSession = Pick<PlaybackSessionRow, 'token' | 'session' | 'viewer' | 'opened_at'> & {
  mediaId: string
}

/** Returns the session of the token, which another request may have opened first. */
export async function insertSession(
  db: Db<Tables>,
  { token, mediaId, session, viewer, opened_at: openedAt }: NewSession,
): Promise<PlaybackSession | undefined> {
  const insert = mediaId.startsWith('li') ? insertForLiveStream : insertForVideo
  await insert(db, [token, mediaId, session, viewer, openedAt])
  return findSession(db, token)
}

/** How long a viewer may continue after a token no longer starts anything. */
export const graceSeconds = 86_400

/** Deletes sessions that no longer serve anything. Their tokens are too old to open another session. */
export async function deleteOldSessions({
  config,
  db,
  now,
}: Pick<Context, 'config' | 'db' | 'now'>): Promise<void> {
  const seconds = config.privateSessionSeconds + graceSeconds
  const before = new Date(now().getTime() - seconds * 1000)
  await db.deleteFrom('playback_sessions').where('opened_at', '<', before).execute()
}
