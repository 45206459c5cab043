import { sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { Viewing, ViewingEvent } from './apply-report.ts'
import { formatRanges, parseRanges } from './ranges.ts'
import { startOfDay } from './session-id.ts'
import type { ViewingSessionRow } from './tables.ts'

/** The part of a session that reports change. */
export type SessionState = {
  id: string
  day: number
  mediaId: string
  metadata: Record<string, string>
  viewing: Viewing
}

/** The part of a session that its first report sets. */
export type SessionOrigin = Pick<
  ViewingSessionRow,
  | 'environment'
  | 'media_type'
  | 'referrer'
  | 'country'
  | 'continent'
  | 'device_type'
  | 'device_vendor'
  | 'device_model'
  | 'os_name'
  | 'os_version'
  | 'browser_name'
  | 'browser_version'
  | 'viewer'
>

const dateSuffix = (day: number) => startOfDay(day).toISOString().slice(0, 10).replaceAll('-', '')

/** Uses the partition directly, so that Postgres does not plan for the others. */
const partitionOf = (day: number) => sql.table(`viewing_sessions_${dateSuffix(day)}`)

type StateRow = Omit<ViewingSessionRow, keyof SessionOrigin>

/** Locks sessions in the order of their ids. `recent` is selected as JSON, which parses many times faster than an array. */
export async function lockSessions(
  trx: Transaction<Tables>,
  day: number,
  ids: string[],
): Promise<SessionState[]> {
  const { rows } = await sql<StateRow & { metadata: Record<string, string> }>`
    select id, media_id, metadata, loaded_at, seen_at, ready_ms, plays, first_played_at, ends, watch_seconds, position,
           playing_since, awaits_play, event_at, watched::text, parts::text, to_json(recent) as recent
    from ${partitionOf(day)} where id = any(${ids}) order by id for update`.execute(trx)
  return rows.map((row) => ({
    id: row.id,
    day,
    mediaId: row.media_id,
    metadata: row.metadata,
    viewing: {
      loadedAt: row.loaded_at.getTime(),
      seenAt: row.seen_at.getTime(),
      readyMs: row.ready_ms,
      plays: row.plays,
      firstPlayedAt: row.first_played_at?.getTime() ?? null,
      ends: row.ends,
      watchSeconds: row.watch_seconds,
      position: row.position,
      playingSince: row.playing_since?.getTime() ?? null,
      awaitsPlay: row.awaits_play,
      eventAt: row.event_at.getTime(),
      watched: parseRanges(row.watched),
      parts: parseRanges(row.parts),
      recent: row.recent,
    },
  }))
}

const date = (time: number | null) => (time === null ? null : new Date(time))

const stateColumns = ({ id, metadata, viewing }: SessionState) => ({
  id,
  metadata,
  ready_ms: viewing.readyMs,
  plays: viewing.plays,
  ends: viewing.ends,
  seen_at: date(viewing.seenAt),
  first_played_at: date(viewing.firstPlayedAt),
  watch_seconds: viewing.watchSeconds,
  position: viewing.position,
  playing_since: date(viewing.playingSince),
  awaits_play: viewing.awaitsPlay,
  event_at: date(viewing.eventAt),
  watched: formatRanges(viewing.watched),
  parts: formatRanges(viewing.parts),
  recent: viewing.recent,
})

const sortById = <T extends { id: string }>(sessions: T[]) =>
  sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Returns the ids of the inserted sessions, without those that another process inserted at the same time. */
export async function insertSessions(
  trx: Transaction<Tables>,
  day: number,
  sessions: (SessionState & { origin: SessionOrigin })[],
): Promise<Set<string>> {
  const rows = sortById(sessions).map((session) => ({
    ...session.origin,
    ...stateColumns(session),
    media_id: session.mediaId,
    loaded_at: date(session.viewing.loadedAt),
  }))
  const table = partitionOf(day)
  const inserted = await sql<{ id: string }>`
    insert into ${table} select * from json_populate_recordset(null::${table}, ${JSON.stringify(rows)})
    on conflict (id) do nothing returning id`.execute(trx)
  return new Set(inserted.rows.map(({ id }) => id))
}

export async function updateSessions(
  trx: Transaction<Tables>,
  day: number,
  sessions: SessionState[],
): Promise<void> {
  const table = partitionOf(day)
  const rows = JSON.stringify(sessions.map(stateColumns))
  await sql`
    update ${table} s set
      metadata = n.metadata, ready_ms = n.ready_ms, plays = n.plays, ends = n.ends, seen_at = n.seen_at,
      first_played_at = n.first_played_at, watch_seconds = n.watch_seconds, position = n.position,
      playing_since = n.playing_since, awaits_play = n.awaits_play, event_at = n.event_at, watched = n.watched,
      parts = n.parts, recent = n.recent
    from json_populate_recordset(null::${table}, ${rows}) n
    where s.id = n.id`.execute(trx)
}

export type StoredEvent = ViewingEvent & { sessionId: string }

export async function insertEvents(trx: Transaction<Tables>, events: StoredEvent[]): Promise<void> {
  const column = <T>(read: (event: StoredEvent) => T) => events.map(read)
  await sql`
    insert into viewing_events (session_id, emitted_at, type, at, from_at, to_at)
    select * from unnest(
      ${column(({ sessionId }) => sessionId)}::text[],
      ${column(({ emittedAt }) => new Date(emittedAt).toISOString())}::timestamptz[],
      ${column(({ type }) => type)}::text[],
      ${column(({ at }) => at)}::float8[],
      ${column(({ from }) => from)}::float8[],
      ${column(({ to }) => to)}::float8[])`.execute(trx)
}

/** Postgres error codes of a missing partition: undefined table, and no partition for the row. */
export const isPartitionMissing = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === '42P01' || error.code === '23514')

/** Postgres error codes of a deadlock and of a serialization failure. */
export const isDeadlock = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === '40P01' || error.code === '40001')

export async function makePartitions(db: Db<Tables>, days: Iterable<number>): Promise<void> {
  for (const day of new Set(days))
    await sql`select make_viewing_partitions(${startOfDay(day).toISOString().slice(0, 10)}::date)`.execute(db)
}
