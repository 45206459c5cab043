import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'

/** One viewing of a video or live stream, from loading the player to closing it. */
export type ViewingSessionRow = {
  /** See `sessionIdOf`. */
  id: string
  environment: Environment
  media_id: string
  media_type: 'video' | 'live-stream'
  /** On the server's clock. */
  loaded_at: Date
  /** When the last report was received. */
  seen_at: Date
  /** Only keys that the video declares. */
  metadata: ColumnType<Record<string, string>, string, string>
  /** Empty if there is none. */
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
  /** Hash of day, user agent and IP address. */
  viewer: string
  /** Time from loading the page until the player was ready. */
  ready_ms: number | null
  plays: number
  first_played_at: Date | null
  ends: number
  /** Includes repeats. */
  watch_seconds: number
  /** The last known position in seconds. */
  position: number | null
  /** While the video plays: the time at which it was at `position`. */
  playing_since: Date | null
  /** Whether the next start counts as a play: the video was loaded, and not played since. */
  awaits_play: boolean
  /** Time of the latest event. Older events that arrive later do not change the position. */
  event_at: Date
  /** Seconds of the video that were watched at least once, as a Postgres multirange: `{[0,5),[7,9)}`. */
  watched: string
  /** The same in hundredths of the duration. Empty while the duration is not known. */
  parts: string
  /** Fingerprints of the latest events, to recognize repeated reports. */
  recent: number[]
}

/** Total plays of expired sessions. */
type PastPlaysRow = {
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

declare module '../tables.ts' {
  interface Tables {
    viewing_sessions: ViewingSessionRow
    viewing_events: ViewingEventRow
    past_plays: PastPlaysRow
  }
}
