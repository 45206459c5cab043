import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'

/** A show: it begins with the first connection of the encoder and ends when the encoder does not come back in time. */
export type BroadcastRow = {
  id: string
  live_stream_id: string
  environment: Environment
  /** Whether it becomes a video. */
  record: boolean
  /** `away`: the encoder is not connected, and may come back. */
  state: 'live' | 'away' | 'ended'
  /** Its end was requested. The owner ends it once everything is stored. */
  completing: boolean
  /** Grows with every owner. Writes of an earlier owner have no effect. */
  fence: number
  /** Where other processes get the newest parts. */
  owner_url: string
  lease_until: Date
  /** The first numbers that no viewer has seen. They are written before viewers see the numbers below them. */
  next_sequence: number
  next_epoch: number
  /** The target duration of the playlists. Null until the first segment is known. */
  target_seconds: number | null
  /** The qualities that viewers can watch, best first. */
  qualities: ColumnType<string[], string, string>
  /** The last measurements. */
  health: ColumnType<object | null, string | null, string | null>
  /** The states of the servers that the stream is also sent to. */
  restreams: ColumnType<StoredRestreamState[], string, string>
  started_at: Date
  /** When viewers could first watch it. */
  visible_at: Date | null
  away_at: Date | null
  ended_at: Date | null
  /** What the recording takes from the live stream, if that was deleted. */
  deleted_stream: ColumnType<RecordedStream | null, string | null, string | null>
}

export type RecordedStream = { name: string; public: boolean; playerId: string | null }

/** The state of a server that the stream is also sent to. */
type StoredRestreamState = {
  name: string
  state: 'connecting' | 'live' | 'retrying' | 'stopped'
  reason: string | null
  since: string
  droppedFrames: number
}

/** The init segment of a quality. Each connection of the encoder is an epoch with its own. */
export type LiveInitRow = {
  broadcast_id: string
  quality: string
  epoch: number
  data: Buffer
  codecs: string
  /** Null if there is no video. */
  width: number | null
  height: number | null
}

/** A complete segment in the file store. */
export type LiveSegmentRow = {
  broadcast_id: string
  quality: string
  sequence: number
  epoch: number
  /** On the timeline of the broadcast. */
  start_ms: number
  duration_ms: number
  bytes: number
  fence: number
  received_at: Date
}

/** The last frame that was made of a live stream's broadcast, as a JPEG. */
export type LiveFrameRow = {
  live_stream_id: string
  broadcast_id: string
  /** The segment that it is from. */
  sequence: number
  data: Buffer
  made_at: Date
}

/** The segments of the source that become one video. */
export type RecordingRow = {
  broadcast_id: string
  part: number
  from_sequence: number
  to_sequence: number
  /** The id of the video, which exists once the state is `recorded`. */
  video_id: string
  state: 'waiting' | 'recorded' | 'failed'
  /** Why it failed, or why it has to be tried again. */
  reason: string | null
  updated_at: Date
}

/** Allows to broadcast to a live stream from a browser. */
export type StudioTokenRow = {
  id: string
  token_hash: Buffer
  live_stream_id: string
  /** The secret of the session that the token has opened. */
  session_hash: Buffer | null
  created_at: Date
  /** Of the token, and later of its session. */
  expires_at: Date
}

/** A process that receives WebRTC. */
export type WhipReceiverRow = {
  id: string
  /** By which the other processes reach it. */
  url: string
  /** On the clock of the database. */
  seen_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    broadcasts: BroadcastRow
    live_inits: LiveInitRow
    live_segments: LiveSegmentRow
    live_frames: LiveFrameRow
    recordings: RecordingRow
    studio_tokens: StudioTokenRow
    whip_receivers: WhipReceiverRow
  }
}
