import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'

// The lock of a tus upload: three columns of its source.

export async function acquireLock(
  db: Db<Tables>,
  videoId: string,
  owner: string,
  { now, until }: { now: Date; until: Date },
): Promise<boolean> {
  const acquired = await db
    .updateTable('sources')
    .set({ lock_owner: owner, lock_until: until, lock_wanted: false })
    .where('video_id', '=', videoId)
    .where((eb) => eb.or([eb('lock_until', 'is', null), eb('lock_until', '<=', now)]))
    .returning('video_id')
    .executeTakeFirst()
  return acquired !== undefined
}

/** Undefined when the lock was lost. `isWanted` tells whether another request waits for it. */
export async function renewLock(
  db: Db<Tables>,
  videoId: string,
  owner: string,
  until: Date,
): Promise<{ isWanted: boolean } | undefined> {
  return db
    .updateTable('sources')
    .set({ lock_until: until })
    .where('video_id', '=', videoId)
    .where('lock_owner', '=', owner)
    .returning('lock_wanted as isWanted')
    .executeTakeFirst()
}

export async function releaseLock(db: Db<Tables>, videoId: string, owner: string): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lock_owner: null, lock_until: null, lock_wanted: false })
    .where('video_id', '=', videoId)
    .where('lock_owner', '=', owner)
    .execute()
}

/** Asks the owner, which may be in another process, to release the lock. */
export async function requestLockRelease(db: Db<Tables>, videoId: string): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lock_wanted: true })
    .where('video_id', '=', videoId)
    .where('lock_owner', 'is not', null)
    .where('lock_wanted', '=', false)
    .execute()
}
