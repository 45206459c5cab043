import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import type { Db } from '../lib/db.ts'
import { maxEntries } from '../lib/lru.ts'
import type { Tables } from '../tables.ts'
import * as store from './session-store.ts'

// A session never changes, and nobody looks up the session of a deleted video.
const cache = new LRUCache<string, store.PlaybackSession>(maxEntries(10_000))

/** Undefined until the token is used. */
export async function findSession(db: Db<Tables>, token: string): Promise<store.PlaybackSession | undefined> {
  const cached = cache.get(token)
  if (cached) return cached
  const session = await store.findSession(db, token)
  if (session) cache.set(token, session)
  return session
}

/** Returns the session of the token, which another request may have created first. */
export async function createSession(
  db: Db<Tables>,
  session: store.NewSession,
): Promise<store.PlaybackSession | undefined> {
  await store.insertSession(db, session)
  return findSession(db, session.token)
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
  await store.deleteSessionsBefore(db, new Date(now().getTime() - seconds * 1000))
}
