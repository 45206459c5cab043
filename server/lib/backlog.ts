import { type RawBuilder, sql } from 'kysely'

/** Work that waits: what is due, what is due later because it has failed before, and how long the first has been due. */
export type Backlog = { waiting: number; delayed: number; oldestSeconds: number }

/** The columns of a backlog, for rows that are due at the time in this column. */
export function backlogOf(dueAt: string): RawBuilder<Backlog> {
  const at = sql.ref(dueAt)
  return sql`count(*) filter (where ${at} <= now()) as waiting, count(*) filter (where ${at} > now()) as delayed,
    coalesce(extract(epoch from now() - min(${at}) filter (where ${at} <= now())), 0)::float8 as "oldestSeconds"`
}
