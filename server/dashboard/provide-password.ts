import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import { lockLinks } from './link-store.ts'
import { hashPassword, isPassword } from './password.ts'
import { deletePassword, findPassword, savePassword } from './password-store.ts'
import { endSessions } from './session-store.ts'

/** Stores the hash of the password in the settings. If the setting has changed or was removed, all sessions end. */
export async function providePassword(
  db: Kysely<Tables>,
  setting: string | undefined,
  now: Date,
): Promise<void> {
  const stored = await findPassword(db)
  if (setting === undefined && !stored?.is_setting) return
  if (setting !== undefined && stored?.is_setting && (await isPassword(setting, stored.hash))) return
  const hash = setting === undefined ? undefined : await hashPassword(setting)
  await db.transaction().execute(async (trx) => {
    await lockLinks(trx)
    if (hash === undefined) await deletePassword(trx)
    else await savePassword(trx, { hash, is_setting: true }, now)
    await endSessions(trx, now)
  })
}
