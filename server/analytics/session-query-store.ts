import { type Selectable, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { Period } from './period.ts'
import { dayOfSession, eventDays, startOfDay } from './session-id.ts'
import type { ViewingEventRow, ViewingSessionRow } from './tables.ts'

export type StoredSession = Selectable<ViewingSessionRow>

export type StoredEvent = Selectable<ViewingEventRow>

export type SessionFilters = { period?: Period; metadata?: Record<string, string> }

/** Lists the sessions of a video or live stream, newest first. */
export async function listSessions(
  db: Db<Tables>,
  { environment, mediaId }: { environment: Environment; mediaId: string },
  { period, metadata }: SessionFilters,
  page: Page,
): Promise<{ sessions: StoredSession[]; total: number }> {
  const found = db
    .selectFrom('viewing_sessions')
    .where('media_id', '=', mediaId)
    .where('environment', '=', environment)
    .$if(period !== undefined, (q) =>
      q.where('loaded_at', '>=', period!.from).where('loaded_at', '<', period!.to),
    )
    .$if(metadata !== undefined, (q) => q.where(sql<boolean>`metadata @> ${JSON.stringify(metadata)}::jsonb`))
  const sessions = await found
    .selectAll()
    .select([sql<string>`watched::text`.as('watched'), sql<string>`parts::text`.as('parts')])
    .orderBy('loaded_at', 'desc')
    .orderBy('id')
    .limit(page.pageSize)
    .offset(page.offset)
    .execute()
  const { total } = await found.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { sessions, total: Number(total) }
}

/** Returns undefined if the session does not exist, or its video or live stream was deleted. */
export async function listEvents(
  db: Db<Tables>,
  environment: Environment,
  sessionId: string,
  page: Page,
): Promise<{ events: StoredEvent[]; total: number } | undefined> {
  const day = dayOfSession(sessionId)
  if (day === undefined) return undefined
  const session = await db
    .selectFrom('viewing_sessions')
    .select('viewing_sessions.id')
    .where('viewing_sessions.id', '=', sessionId)
    .where('viewing_sessions.environment', '=', environment)
    .where('loaded_at', '>=', startOfDay(day))
    .where('loaded_at', '<', startOfDay(day + 1))
    .where(
      sql<boolean>`exists (select from videos where id = media_id)
        or exists (select from live_streams where id = media_id)`,
    )
    .executeTakeFirst()
  if (!session) return undefined
  const [from, to] = eventDays(day)
  const found = db
    .selectFrom('viewing_events')
    .where('session_id', '=', sessionId)
    .where('emitted_at', '>=', from)
    .where('emitted_at', '<', to)
  const events = await found
    .selectAll()
    .orderBy('emitted_at')
    .orderBy('position')
    .limit(page.pageSize)
    .offset(page.offset)
    .execute()
  const { total } = await found.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { events, total: Number(total) }
}
