import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { Environment, Tables, ViewingEventRow, ViewingSessionRow } from '../contracts/tables.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Period } from './period.ts'
import { dayOf, dayOfSession, startOfDay } from './session-id.ts'

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
  const [sessions, { total }] = await Promise.all([
    found
      .selectAll()
      .select([sql<string>`watched::text`.as('watched'), sql<string>`parts::text`.as('parts')])
      .orderBy('loaded_at', 'desc')
      .orderBy('id')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    found.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
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
  const [events, { total }] = await Promise.all([
    found
      .selectAll()
      .orderBy('emitted_at')
      .orderBy('position')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    found.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { events, total: Number(total) }
}

export type Forgotten =
  | { environment: Environment; metadata: Record<string, string> }
  | { environment: Environment; loadedBefore: Date }
  | { mediaId: string }

const atOnce = 500

/** Deletes sessions with their events, some at a time, so that nobody waits for long. How many. */
export async function forgetSessions(db: Kysely<Tables>, which: Forgotten): Promise<number> {
  let deleted = 0
  for (;;) {
    const some = await db.transaction().execute((trx) => forgetSome(trx, which))
    deleted += some
    if (some < atOnce) break
  }
  if ('mediaId' in which) await db.deleteFrom('past_plays').where('media_id', '=', which.mediaId).execute()
  return deleted
}

async function forgetSome(trx: Transaction<Tables>, which: Forgotten): Promise<number> {
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
    .forUpdate()
    .execute()
  const byDay = Map.groupBy(rows, ({ loaded_at }) => dayOf(loaded_at.getTime()))
  for (const [day, sessions] of byDay) {
    const ids = sessions.map(({ id }) => id)
    const [from, to] = eventDays(day)
    await sql`
      delete from viewing_events
      where session_id = any(${ids}) and emitted_at >= ${from} and emitted_at < ${to}`.execute(trx)
    await sql`
      delete from viewing_sessions
      where id = any(${ids}) and loaded_at >= ${startOfDay(day)} and loaded_at < ${startOfDay(day + 1)}`.execute(
      trx,
    )
  }
  return rows.length
}
