import { sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

// The listener's connection of a process carries the number of its encode slots in its name. Postgres knows which
// connections are open, so a process that is killed needs no heartbeat to be forgotten.
const prefix = 'kinora listener, encode slots: '

export const listenerName = ({ roles, encodeSlots }: Pick<Config, 'roles' | 'encodeSlots'>) =>
  `${prefix}${roles.has('worker') ? encodeSlots : 0}`

/** The encode slots of all processes. */
export async function countSlots(db: Db<Tables>): Promise<number> {
  const { rows } = await sql<{ slots: number }>`
    select coalesce(sum(substr(application_name, ${prefix.length + 1})::int), 0)::int as slots
    from pg_stat_activity
    where datname = current_database() and starts_with(application_name, ${prefix})`.execute(db)
  return rows[0]!.slots
}
