import type { PlaybackSessionRow } from '../access/tables.ts'
import type { Context } from '../context.ts'
import { type Db, prepare } from '../lib/db.ts'
import { Lru } from '../lib/lru.ts'
import type { Tables } from '../tables.ts'

export type PlaybackSession = Pick<PlaybackSessionRow, 'session' | 'viewer' | 'opened_at'>

// A session does not change, and that of a deleted video is not asked for.
const known = new Lru<string, PlaybackSession>(10_000)

const find = prepare<PlaybackSession>(
  'find-playback-session',
  'select session, viewer, opened_at from playback_sessions where token = $1',
)

/** Undefined as long as nobody has used the token. */
export async function findSession(db: Db<Tables>, token: string): Promise<PlaybackSession | undefined> {
  const remembered = known.get(token)
  if (remembered) return remembered
  const [row] = await find(db, [token])
  if (row) known.set(token, row)
  return row
}

// A video that has been deleted in the meantime has no sessions.
const insert = prepare(
  'insert-playback-session',
  `insert into playback_sessions (token, video_id, session, viewer, opened_at)
   select $1, id, $3, $4, $5 from videos where id = $2 for key share
   on conflict do nothing`,
)

/** The session of the first who asked: of several at once, one. */
export async function openSession(
  db: Db<Tables>,
  { token, video_id: videoId, session, viewer, opened_at: openedAt }: PlaybackSessionRow,
): Promise<PlaybackSession | undefined> {
  await insert(db, [token, videoId, session, viewer, openedAt])
  return findSession(db, token)
}

/** How long what was begun may go on when no new beginning is allowed any more. */
export const goingOnSeconds = 86_400

/** Those of which nothing is served any more. Their tokens are too old to open another. */
export async function deleteOldSessions({
  config,
  db,
  now,
}: Pick<Context, 'config' | 'db' | 'now'>): Promise<void> {
  const seconds = config.privateSessionSeconds + goingOnSeconds
  const before = new Date(now().getTime() - seconds * 1000)
  await db.deleteFrom('playback_sessions').where('opened_at', '<', before).execute()
}
