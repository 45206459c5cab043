import { sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { dayOf, eventDays, startOfDay } from './session-id.ts'

export type SessionSelector =
  | { environment: Environment; metadata: Record<string, string> }
  | { environment: Environment; loadedBefore: Date }
  | { mediaId: string }

/**
 * Deletes up to `limit` of the selected sessions with their events. Rows are locked by day and id, in the same order as
 * reports lock them, to avoid deadlocks.
 */
export async function deleteSessionBatch(
  trx: Transaction<Tables>,
  selector: SessionSelector,
  limit: number,
): Promise<{ found: number; deleted: number }> {
  const { rows } = await sql<{ id: string; loaded_at: Date }>`
    select id, loaded_at from viewing_sessions where ${matches(selector)} limit ${limit}`.execute(trx)
  let deleted = 0
  const byDay = Map.groupBy(rows, ({ loaded_at }) => dayOf(loaded_at.getTime()))
  for (const [day, sessions] of [...byDay].sort(([a], [b]) => a - b)) {
    const ids = sessions.map(({ id }) => id)
    const isSelected = sql`
      id = any(${ids}) and loaded_at >= ${startOfDay(day)} and loaded_at < ${startOfDay(day + 1)}`
    const [from, to] = eventDays(day)
    await sql`select from viewing_sessions where ${isSelected} order by id for update`.execute(trx)
    await sql`
      delete from viewing_events
      where session_id = any(${ids}) and emitted_at >= ${from} and emitted_at < ${to}`.execute(trx)
    const { numAffectedRows } = await sql`delete from viewing_sessions where ${isSelected}`.execute(trx)
    deleted += Number(numAffectedRows)
  }
  return { found: rows.length, deleted }
}

function matches(selector: SessionSelector) {
  if ('mediaId' in selector) return sql`media_id = ${selector.mediaId}`
  if ('loadedBefore' in selector)
    return sql`environment = ${selector.environment} and loaded_at < ${selector.loadedBefore}`
  // The index covers only sessions with metadata; the first condition makes Postgres use it.
  return sql`
    environment = ${selector.environment}
    and metadata <> '{}' and metadata @> ${JSON.stringify(selector.metadata)}::jsonb`
}

export async function deletePastPlays(db: Db<Tables>, mediaId: string): Promise<void> {
  await db.deleteFrom('past_plays').where('media_id', '=', mediaId).execute()
}
