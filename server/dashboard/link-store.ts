import { sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { latestEnd } from './lifetime.ts'
import type { LoginLinkRow } from './tables.ts'

/** The first start may run unattended. */
export const maxLinkMs = 24 * 3_600_000

export async function insertLink(db: Db<Tables>, row: LoginLinkRow): Promise<void> {
  await db.insertInto('login_links').values(row).execute()
}

/** Serializes processes that start at the same time, so that only one of them prints a link. */
export async function lockLinks(trx: Transaction<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('login links', 0))`.execute(trx)
}

/** Whether a link exists that is not expired, used or not: any link, or the one with this hash. */
export async function hasLink(db: Db<Tables>, now: Date, hash?: Buffer): Promise<boolean> {
  const found = await db
    .selectFrom('login_links')
    .select('hash')
    .where('expires_at', '>', now)
    .where('expires_at', '<=', latestEnd(now, maxLinkMs))
    .$if(hash !== undefined, (q) => q.where('hash', '=', hash!))
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Unused links work no longer. */
export async function endLinks(db: Db<Tables>, now: Date): Promise<void> {
  await db.updateTable('login_links').set({ used_at: now }).where('used_at', 'is', null).execute()
}

/** Returns false if the link is unknown, used or expired. */
export async function useLink(db: Db<Tables>, hash: Buffer, now: Date): Promise<boolean> {
  const used = await db
    .updateTable('login_links')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .where('expires_at', '<=', latestEnd(now, maxLinkMs))
    .returning('hash')
    .executeTakeFirst()
  return used !== undefined
}

export async function deleteExpired(db: Db<Tables>, now: Date): Promise<void> {
  await db.deleteFrom('login_links').where('expires_at', '<=', now).execute()
}
