import { randomBytes } from 'node:crypto'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

const name = 'service'

/** Returns the secret that all processes share. The first process creates it. */
export async function provideSecret(db: Db<Tables>): Promise<Buffer> {
  await db
    .insertInto('secrets')
    .values({ name, value: randomBytes(32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return findSecret(db)
}

/** Rejects if no process has ever started. */
export async function findSecret(db: Db<Tables>): Promise<Buffer> {
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return value
}
