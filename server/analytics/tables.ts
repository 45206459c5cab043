import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'

/** One viewing of a video or live stream: a page that was opened, and what came of it. */
export type ViewingSessionRow = {
  /** `ps`, the day in four letters, the rest: see the analytics slice. */
  id: string
  environment: Environment
  media_id: string
  media_type: 'video' | 'live-stream'
  /** By the server's clock. */
  loaded_at: Date
  /** Of the last report. */
  seen_at: Date
  /** Declared keys only. */
  metadata: ColumnType<Record<string, string>, string, string>
  /** Empty for none. */
  referrer: string
  country: string | null
  continent: string | null
  device_type: string | null
  device_vendor: string | null
  device_model: string | null
  os_name: string | null
  os_version: string | null
  browser_name: string | null
  browser_version: string | null
  /** Hash of day, user agent and address. */
  viewer: string
  /** From loading to being ready. */
  ready_ms: number | null
  plays: number
  first_played_at: Date | null
  ends: number
  /** All that was watched, repeats included. */
  watch_seconds: number
  /** Where it is, and while it plays: when it was there. */
  position: number | null
  playing_since: Date | null
  /** Whether the next play counts: it was loaded, and not played since. */
  awaits_play: boolean
  /** The time of its latest event: what comes later than that in spite of being older moves nothing. */
  event_at: Date
  /** Whole seconds that were seen at least once, as Postgres writes ranges: `{[0,5),[7,9)}`. */
  watched: string
  /** The same in hundredths of a video's length; none while that is not known. */
  parts: string
  /** Hashes of the last events, by which a report that comes again is told. */
  recent: number[]
}

/** Plays of the days whose sessions are no longer kept. */
export type PastPlaysRow = {
  media_id: string
  environment: Environment
  media_type: 'video' | 'live-stream'
  plays: number
}

export type ViewingEventRow = {
  session_id: string
  emitted_at: Date
  position: Generated<number>
  type: string
  at: number | null
  from_at: number | null
  to_at: number | null
}

export type AnalyticsTables = {
  viewing_sessions: ViewingSessionRow
  viewing_events: ViewingEventRow
  past_plays: PastPlaysRow
}
