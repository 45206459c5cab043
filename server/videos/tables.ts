import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'

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
  /** The upload token that created it, if one did. */
  upload_token: string | null
}

export type VideoCountRow = { environment: Environment; tag: string; videos: number }

export type VideoCountChangeRow = { environment: Environment; tags: string[]; change: number }

export type VideosTables = {
  videos: VideoRow
  video_counts: VideoCountRow
  video_count_changes: VideoCountChangeRow
}
