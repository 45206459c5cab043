import type { Environment } from '../environments.ts'

export type UploadTokenRow = {
  token: string
  environment: Environment
  ttl: number
  created_at: Date
  expires_at: Date | null
  /** The only video that the token can fill. Null: the videos that it creates. */
  video_id: string | null
}

export type SourceForm = 'whole' | 'bytes' | 'parts' | 'url' | 'clone' | 'recording'

/** `dropped`: everything is encoded, and the file was removed. `updated_at` is the time. */
export type SourceState = 'receiving' | 'received' | 'stored' | 'failed' | 'dropped'

/** The source of a video: how it is received, and what has arrived. */
export type SourceRow = {
  video_id: string
  form: SourceForm
  /** The number of bytes or parts, once known. */
  total: number | null
  /** In bytes, once everything has arrived. */
  size: number | null
  /** The upload in the file store. */
  handle: string
  state: SourceState
  failure: string | null
  token: string | null
  filename: string | null
  address: string | null
  /** The key or upload token that started the upload. */
  created_by: string | null
  /** The ETag or Last-Modified header of the file that is being downloaded. */
  validator: string | null
  /** The Upload-Metadata header of a tus upload. Null for other uploads. */
  tus_metadata: string | null
  /** Totals of the chunks that have arrived. */
  received_pieces: number
  received_bytes: number
  /** The tus request that holds the lock, when the lock expires, and whether another request waits for it. */
  lock_owner: string | null
  lock_until: Date | null
  lock_wanted: boolean
  /** The video is discarded, and the job that fetches its source has ended. Restoring the video creates a new job. */
  is_paused: boolean
  /** Who is writing a chunk that may already be encoded, where it begins in the file, and how much of it is written. */
  arriving_owner: string | null
  arriving_from: number | null
  arriving_bytes: number | null
  /** Counts how often bytes were discarded that the video may have been encoded from. */
  arrival_revision: number
  /** What had arrived when the video was last planned from it, and when that was. */
  examined_bytes: number
  examined_at: Date | null
  created_at: Date
  updated_at: Date
}

/** A chunk of a source. While it is being written, it has a `lease_owner` and no location (`place`). */
export type SourcePieceRow = {
  video_id: string
  position: number
  size: number
  place: string | null
  lease_owner: string | null
  lease_until: Date | null
}

declare module '../tables.ts' {
  interface Tables {
    upload_tokens: UploadTokenRow
    sources: SourceRow
    source_pieces: SourcePieceRow
  }
}
