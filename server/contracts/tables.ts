import type { ColumnType } from 'kysely'

export const environments = ['production', 'sandbox'] as const
export type Environment = (typeof environments)[number]

export type ApiKeyRow = {
  id: string
  environment: Environment
  name: string
  hash: Buffer
  created_at: Date
  revoked_at: Date | null
}

export type TokenRow = {
  hash: Buffer
  kind: 'access' | 'refresh'
  key_id: string
  expires_at: Date
}

export type Metadata = { key: string; value: string }
export type Clip = { startTimecode?: string; endTimecode?: string }

/** How the content of a video came, or will come: `reference` is an address, a video's id or a live stream's id. */
export type SourceType = 'upload' | 'url' | 'clone' | 'liveStream'

export type VideoRow = {
  id: string
  environment: Environment
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4_support: boolean
  tags: string[]
  metadata: ColumnType<Metadata[], string, string>
  player_id: string | null
  language: string | null
  source_type: SourceType
  source_reference: string | null
  clip: ColumnType<Clip | null, string | null, never>
  created_at: Date
  updated_at: Date
  /** Hashes of the tags and of the metadata pairs: what the search index holds. */
  tag_terms: string[]
  metadata_terms: string[]
}

export type VideoCountRow = { environment: Environment; tag: string; videos: number }
export type VideoCountChangeRow = { environment: Environment; tags: string[]; change: number }

export type UploadTokenRow = {
  token: string
  environment: Environment
  ttl: number
  created_at: Date
  expires_at: Date | null
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
  /** By which a server tells whether a file is still the same. */
  validator: string | null
  /** What a tus client wants to be told again. */
  tus_metadata: string | null
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

export type Tables = {
  api_keys: ApiKeyRow
  tokens: TokenRow
  videos: VideoRow
  video_counts: VideoCountRow
  video_count_changes: VideoCountChangeRow
  upload_tokens: UploadTokenRow
  sources: SourceRow
  source_pieces: SourcePieceRow
}
