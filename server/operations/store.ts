import { sql } from 'kysely'
import { type Backlog, backlogOf } from '../lib/backlog.ts'
import type { Db } from '../lib/db.ts'
import type { Jobs } from '../queues.ts'
import type { Tables } from '../tables.ts'

/** The backlogs of the job queues. An index contains what waits, so finished jobs cost nothing. */
export async function findJobBacklogs(db: Db<Tables>): Promise<Map<keyof Jobs, Backlog>> {
  const { rows } = await sql<Backlog & { name: keyof Jobs }>`
    select q.name, coalesce(j.waiting, 0) as waiting, coalesce(j.delayed, 0) as delayed,
      coalesce(j."oldestSeconds", 0) as "oldestSeconds"
    from pgboss.queue q left join (
      select name, ${backlogOf('start_after')} from pgboss.job where state < 'active' and not blocked group by name
    ) j on j.name = q.name`.execute(db)
  return new Map(rows.map(({ name, ...backlog }) => [name, backlog]))
}
