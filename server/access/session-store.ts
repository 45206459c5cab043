import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { PlaybackSessionRow } from './tables.ts'

export type PlaybackSession = Pick<PlaybackSessionRow, 'session' | 'viewer' | 'opened_at'>

const find = prepare<PlaybackSession>(
  'find-playback-session',
  'select session, viewer, opened_at from playback_sessions where token = $1',
)

export async function findSession(db: Db<Tables>, token: string): Promise<PlaybackSession | undefined> {
  const [row] = await find(db, [token])
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

export type NewSession = Pick<PlaybackSessionRow, 'token' | 'session' | 'viewer' | 'opened_at'> & {
  mediaId: string
}

/** Changes nothing if the token has a session. */
export async function insertSession(
  db: Db<Tables>,
  { token, mediaId, session, viewer, opened_at: openedAt }: NewSession,
): Promise<void> {
  const insert = mediaId.startsWith('li') ? insertForLiveStream : insertForVideo
  await insert(db, [token, mediaId, session, viewer, openedAt])
}

export async function deleteSessionsBefore(db: Db<Tables>, time: Date): Promise<void> {
  await db.deleteFrom('playback_sessions').where('opened_at', '<', time).execute()
}
