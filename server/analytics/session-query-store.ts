import { type Selectable, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import { countRows, type Db } from '../lib/db.ts'
import { type Page, totalOf } from '../lib/paging.ts'
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
    .limit(page.pageSize + 1)
    .offset(page.offset)
    .execute()
  const total = totalOf(await countRows(db, found), page, sessions.length)
  return { sessions: sessions.slice(0, page.pageSize), total }
}

export type ViewerSession = StoredSession & { media_title: string }

type InPeriod = { environment: Environment; period: Period }

/** Lists all sessions, newest first, unless their video or live stream was deleted. */
export async function listAllSessions(
  db: Db<Tables>,
  { environment, period }: InPeriod,
  page: Page,
): Promise<{ sessions: ViewerSession[]; total: number }> {
  const found = db
    .selectFrom('viewing_sessions')
    .where('environment', '=', environment)
    .where('loaded_at', '>=', period.from)
    .where('loaded_at', '<', period.to)
    .where(
      sql<boolean>`(exists (select from videos where videos.id = media_id)
        or exists (select from live_streams where live_streams.id = media_id))`,
    )
  const sessions = await found
    .selectAll()
    .select([
      sql<string>`coalesce((select title from videos where videos.id = media_id),
        (select name from live_streams where live_streams.id = media_id))`.as('media_title'),
      sql<string>`watched::text`.as('watched'),
      sql<string>`parts::text`.as('parts'),
    ])
    .orderBy('loaded_at', 'desc')
    .orderBy('id')
    .limit(page.pageSize + 1)
    .offset(page.offset)
    .execute()
  const total = totalOf(await countRows(db, found), page, sessions.length)
  return { sessions: sessions.slice(0, page.pageSize), total }
}

/** Lists the sessions with these key-value pairs, newest first, unless their video or live stream was deleted. */
export async function listViewerSessions(
  db: Db<Tables>,
  { environment, period, metadata }: InPeriod & { metadata: object },
  page: Page,
): Promise<{ sessions: ViewerSession[]; total: number }> {
  // The index covers only sessions with metadata; the second condition makes Postgres use it.
  const { rows } = await sql<ViewerSession & { total: number; id: string | null }>`
    with found as materialized (
      select s.*, coalesce(v.title, l.name) as media_title
      from viewing_sessions s left join videos v on v.id = media_id left join live_streams l on l.id = media_id
      where s.environment = ${environment}
        and s.metadata <> '{}' and s.metadata @> ${JSON.stringify(metadata)}::jsonb
        and loaded_at >= ${period.from} and loaded_at < ${period.to} and coalesce(v.id, l.id) is not null
    )
    select total, page.*, page.watched::text as watched, page.parts::text as parts
    from (select count(*) as total from found) as counted
    left join lateral (
      select * from found order by loaded_at desc, id limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by loaded_at desc, id`.execute(db)
  // An empty page has one row, which contains only the total.
  return { sessions: rows.filter((row) => row.id !== null), total: Number(rows[0]?.total ?? 0) }
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
    .limit(page.pageSize + 1)
    .offset(page.offset)
    .execute()
  const total = totalOf(await countRows(db, found), page, events.length)
  return { events: events.slice(0, page.pageSize), total }
}
