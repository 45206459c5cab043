import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

/** The payload of a notification is `kind environment id`. The environment is `*` for both. */
export const changesChannel = 'kinora_changes'

/** Makes the triggers announce changes for so long. The clock of the database decides. */
export async function renewWatcher(db: Db<Tables>, processId: string, seconds: number): Promise<void> {
  const until = sql<Date>`now() + ${seconds} * interval '1 second'`
  await db
    .insertInto('dashboard_watchers')
    .values({ process_id: processId, until })
    .onConflict((conflict) => conflict.column('process_id').doUpdateSet({ until }))
    .execute()
}

export async function deleteExpired(db: Db<Tables>): Promise<void> {
  await sql`delete from dashboard_watchers where until < now()`.execute(db)
}
