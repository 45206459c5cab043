import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Metadata } from '../videos/tables.ts'

/** A server that the stream is also sent to. */
export type Restream = { name: string; serverUrl: string; streamKey: string }

/** An encoder that could not broadcast. */
export type Refusal = { at: string; reason: string }

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
  /** What encoders encrypt SRT with. Null if it is not encrypted. */
  srt_passphrase: string | null
  /** Whether the player shows how many watch. */
  show_viewers: boolean
  /** The last connection of an encoder that was rejected, and why. */
  last_refusal: ColumnType<Refusal | null, null, string>
  created_at: Date
  updated_at: Date
}

/** A JPEG image. */
type LiveThumbnailRow = { live_stream_id: string; data: Buffer }

declare module '../tables.ts' {
  interface Tables {
    live_streams: LiveStreamRow
    live_thumbnails: LiveThumbnailRow
  }
}
