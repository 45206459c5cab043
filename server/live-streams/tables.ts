import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Metadata } from '../videos/tables.ts'

/** A server that the stream is also sent to. */
export type Restream = { name: string; serverUrl: string; streamKey: string }

export type LiveStreamRow = {
  id: string
  environment: Environment
  name: string
  /** What an encoder sends to be allowed to publish. */
  stream_key: string
  public: boolean
  record: boolean
  player_id: string | null
  restreams: ColumnType<Restream[], string, string>
  metadata: ColumnType<Metadata[], string, string>
  /** Whether the player shows how many watch. */
  show_viewers: boolean
  thumbnail_key: string | null
  created_at: Date
  updated_at: Date
}

export type LiveStreamsTables = {
  live_streams: LiveStreamRow
}
