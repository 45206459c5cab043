import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { Period } from './period.ts'
import { dayOf, dayOfSession, startOfDay } from './session-id.ts'
import { isDeadlock } from './session-store.ts'
import type { ViewingEventRow, ViewingSessionRow } from './tables.ts'

export type StoredSession = Selectable<ViewingSessionRow>

export type SessionFilters = { period?: Period; metadata?: Record<string, string> }

/** Of one video; the newest first. */
export async function listSessions(
  db: Db<Tables>,
  environment: Environment,
  mediaId: string,
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

/** Sessions go on into the next day, and clocks may be a minute ahead of that. */
const daysOfEvents = 3

const eventDays = (day: number) => [startOfDay(day), startOfDay(day + daysOfEvents)] as const

/** Undefined when there is no such session, or when what it watched is gone. */
export async function listEvents(
  db: Db<Tables>,
  environment: Environment,
  sessionId: string,
  page: Page,
): Promise<{ events: Selectable<ViewingEventRow>[]; total: number } | undefined> {
  const day = dayOfSession(sessionId)
  if (day === undefined) return undefined
  const session = await db
    .selectFrom('viewing_sessions')
    .innerJoin('videos', 'videos.id', 'media_id')
    .select('viewing_sessions.id')
    .where('viewing_sessions.id', '=', sessionId)
    .where('viewing_sessions.environment', '=', environment)
    .where('loaded_at', '>=', startOfDay(day))
    .where('loaded_at', '<', startOfDay(day + 1))
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

export type Forgotten =
  | { environment: Environment; metadata: Record<string, string> }
  | { environment: Environment; loadedBefore: Date }
  | { mediaId: string }

const atOnce = 500
const mostTries = 4

/** Deletes sessions with their events, some at a time, so that nobody waits for long. How many. */
export async function forgetSessions(db: Kysely<Tables>, which: Forgotten): Promise<number> {
  let deleted = 0
  for (let tries = 1; ; ) {
    try {
      const some = await db.transaction().execute((trx) => forgetSome(trx, which))
      deleted += some.deleted
      if (some.found < atOnce) break
      tries = 1
    } catch (error) {
      if (tries === mostTries || !isDeadlock(error)) throw error
      tries += 1
    }
  }
  if ('mediaId' in which) await db.deleteFrom('past_plays').where('media_id', '=', which.mediaId).execute()
  return deleted
}

/** Day by day and by id, the order in which reports lock them; in which they are found is another one. */
async function forgetSome(
  trx: Transaction<Tables>,
  which: Forgotten,
): Promise<{ found: number; deleted: number }> {
  const rows = await trx
    .selectFrom('viewing_sessions')
    .select(['id', 'loaded_at'])
    .$if('mediaId' in which, (q) => q.where('media_id', '=', 'mediaId' in which ? which.mediaId : ''))
    .$if('environment' in which, (q) =>
      q.where('environment', '=', 'environment' in which ? which.environment : 'sandbox'),
    )
    // Said twice, so that the index of those that carry anything is used.
    .$if('metadata' in which, (q) =>
      q.where(
        sql<boolean>`metadata <> '{}' and metadata @> ${JSON.stringify('metadata' in which && which.metadata)}::jsonb`,
      ),
    )
    .$if('loadedBefore' in which, (q) =>
      q.where('loaded_at', '<', 'loadedBefore' in which ? which.loadedBefore : new Date(0)),
    )
    .limit(atOnce)
    .execute()
  let deleted = 0
  const byDay = Map.groupBy(rows, ({ loaded_at }) => dayOf(loaded_at.getTime()))
  for (const [day, sessions] of [...byDay].sort(([a], [b]) => a - b)) {
    const ids = sessions.map(({ id }) => id)
    const isOfThem = sql`
      id = any(${ids}) and loaded_at >= ${startOfDay(day)} and loaded_at < ${startOfDay(day + 1)}`
    const [from, to] = eventDays(day)
    await sql`select from viewing_sessions where ${isOfThem} order by id for update`.execute(trx)
    await sql`
      delete from viewing_events
      where session_id = any(${ids}) and emitted_at >= ${from} and emitted_at < ${to}`.execute(trx)
    const { numAffectedRows } = await sql`delete from viewing_sessions where ${isOfThem}`.execute(trx)
    deleted += Number(numAffectedRows)
  }
  return { found: rows.length, deleted }
}
