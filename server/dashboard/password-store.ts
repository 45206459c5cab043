import type { Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { AdminPasswordRow } from './tables.ts'

export type AdminPassword = Pick<AdminPasswordRow, 'hash' | 'is_setting'>

export function findPassword(db: Db<Tables>): Promise<AdminPassword | undefined> {
  return db.selectFrom('admin_password').select(['hash', 'is_setting']).executeTakeFirst()
}

/** Whether the password still has this hash. It cannot change before the end of the transaction. */
export async function lockPassword(trx: Transaction<Tables>, hash: string): Promise<boolean> {
  const found = await trx.selectFrom('admin_password').select('hash').forShare().executeTakeFirst()
  return found?.hash === hash
}

export async function savePassword(db: Db<Tables>, password: AdminPassword, now: Date): Promise<void> {
  const row = { ...password, updated_at: now }
  await db
    .insertInto('admin_password')
    .values({ id: true, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function deletePassword(db: Db<Tables>): Promise<void> {
  await db.deleteFrom('admin_password').execute()
}
