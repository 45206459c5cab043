import type { Environment } from '../environments.ts'

export type UploadTokenRow = {
  token: string
  environment: Environment
  ttl: number
  created_at: Date
  expires_at: Date | null
  /** The only video that the token may fill; null: those that it creates itself. */
  video_id: string | null
}

export type SourceForm = 'whole' | 'bytes' | 'parts' | 'url' | 'clone'

export type SourceState = 'receiving' | 'received' | 'stored' | 'failed'

/** The content of a video: how it comes and what of it has come. */
export type SourceRow = {
  video_id: string
  form: SourceForm
  /** Of bytes or of parts, once known. */
  total: number | null
  /** In bytes, once all has come. */
  size: number | null
  /** Where the file store keeps what has come. */
  handle: string
  state: SourceState
  failure: string | null
  token: string | null
  filename: string | null
  address: string | null
  /** The key or upload token that began the upload. */
  created_by: string | null
  /** By which a server tells whether a file is still the same. */
  validator: string | null
  /** What a tus client wants to be told again; null: not a tus upload. */
  tus_metadata: string | null
  /** Sums of the pieces that have arrived. */
  received_pieces: number
  received_bytes: number
  /** The tus request that may write, until when unless renewed, and whether another one waits for it. */
  lock_holder: string | null
  lock_until: Date | null
  lock_wanted: boolean
  created_at: Date
  updated_at: Date
}

/** One piece of a source. While it is written it has a holder and no place. */
export type SourcePieceRow = {
  video_id: string
  position: number
  size: number
  place: string | null
  holder: string | null
  held_until: Date | null
}

export type UploadsTables = {
  upload_tokens: UploadTokenRow
  sources: SourceRow
  source_pieces: SourcePieceRow
}
