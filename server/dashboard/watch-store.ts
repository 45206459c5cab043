import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

/** The payload of a notification is `kind environment id`. The environment is `*` for both. */
export const changesChannel = 'kinora_changes'

/** Makes the triggers announce changes for so long. Takes effect at once, also in transactions that have begun. */
export async function watchChanges(db: Db<Tables>, seconds: number): Promise<void> {
  await sql`
    select setval('dashboard_watched_until', ceil(extract(epoch from now()))::bigint + ${seconds}::bigint)`.execute(
    db,
  )
}
