import { query } from './harness.ts'

/** The columns of viewing_sessions that a test sets. */
export type Session = Partial<{
  id: string
  environment: 'production' | 'sandbox'
  media_id: string
  media_type: 'video' | 'live-stream'
  loaded_at: Date
  seen_at: Date
  metadata: Record<string, string>
  referrer: string
  country: string
  continent: string
  device_type: string
  os_name: string
  browser_name: string
  viewer: string
  ready_ms: number
  plays: number
  first_played_at: Date
  ends: number
  watch_seconds: number
  playing_since: Date
  watched: string
  parts: string
}>

let inserted = 0

/** Inserts sessions as the collector does. A session with plays but without first_played_at starts to play when it is loaded. */
export async function insertSessions(database: string, sessions: Session[]): Promise<void> {
  const rows = sessions.map((session) => {
    const loaded_at = session.loaded_at ?? new Date()
    return {
      id: `ps${++inserted}`,
      environment: 'production',
      media_id: 'viVideo',
      media_type: 'video',
      loaded_at,
      seen_at: session.first_played_at ?? loaded_at,
      metadata: {},
      referrer: '',
      viewer: `viewer ${inserted}`,
      plays: 0,
      ends: 0,
      watch_seconds: 0,
      ...(session.plays && { first_played_at: loaded_at }),
      awaits_play: false,
      event_at: loaded_at,
      watched: '{}',
      parts: '{}',
      recent: [],
      ...session,
    }
  })
  await query(
    database,
    `select make_viewing_partitions(day::date)
     from (select distinct (r ->> 'loaded_at')::timestamptz at time zone 'UTC' as day
           from jsonb_array_elements($1::jsonb) as r) as days`,
    [JSON.stringify(rows)],
  )
  await query(
    database,
    'insert into viewing_sessions select * from jsonb_populate_recordset(null::viewing_sessions, $1::jsonb)',
    [JSON.stringify(rows)],
  )
}

export const clearSessions = (database: string) => query(database, 'delete from viewing_sessions')

export const ago = (ms: number) => new Date(Date.now() - ms)
export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour
