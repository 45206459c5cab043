import type { Kysely } from 'kysely'
import { hashSecret, newSecret } from '../accounts/keys.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { hasLink, insertLink, lockLinks, maxLinkMs } from './link-store.ts'
import { findPassword } from './password-store.ts'

const minuteMs = 60_000
export const linkMinutes = 15

/** The token is in the fragment, which browsers do not send, so that it is in no log. */
export const linkUrl = (publicUrl: string, token: string) => `${publicUrl}/dashboard/login#link=${token}`

/** Returns the token of a new link, which works once. */
export async function createLink(
  db: Db<Tables>,
  now: Date,
  lifetimeMs = linkMinutes * minuteMs,
  token = newSecret(),
): Promise<string> {
  const expires_at = new Date(now.getTime() + lifetimeMs)
  await insertLink(db, { hash: hashSecret(token), created_at: now, expires_at, used_at: null })
  return token
}

/**
 * Creates a link with this token for the first login. Returns false if there is a password or another link. It can be
 * repeated with the same token when the response was lost.
 */
export function provideFirstLink(db: Kysely<Tables>, token: string, now: Date): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await lockLinks(trx)
    if (await findPassword(trx)) return false
    if (await hasLink(trx, now)) return hasLink(trx, now, hashSecret(token))
    await createLink(trx, now, maxLinkMs, token)
    return true
  })
}
