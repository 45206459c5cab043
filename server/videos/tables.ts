import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Size } from '../media/images.ts'
import type { WatermarkPosition } from '../media/watermark.ts'

export type Metadata = { key: string; value: string }

export type Clip = { startTimecode?: string; endTimecode?: string }

/** The watermark that a video was created with. The image is a file of the video. */
export type VideoWatermark = {
  id: string
  /** The size of the image. */
  image: Size
  position: WatermarkPosition
  /** Between 0 and 1. */
  opacity: number
}

/** Where the content comes from. `source_reference` is a URL, or the id of a video or live stream. */
export type SourceType = 'upload' | 'url' | 'clone' | 'liveStream'

export type VideoRow = {
  id: string
  environment: Environment
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4_support: boolean
  /** Whether viewers may watch what has arrived of the source. Null: who uploads the file decides. */
  playable_during_upload: boolean | null
  tags: string[]
  metadata: ColumnType<Metadata[], string, string>
  player_id: string | null
  language: string | null
  /** The language was recognized in the audio, and not set by the owner. */
  is_language_detected: Generated<boolean>
  source_type: SourceType
  source_reference: string | null
  clip: ColumnType<Clip | null, string | null, never>
  watermark: ColumnType<VideoWatermark | null, string | null, never>
  /** The size of the best quality. Null until the encoding is planned. */
  width: number | null
  height: number | null
  created_at: Date
  updated_at: Date
  /** Hashes of the tags and of the metadata pairs, for the search index. */
  tag_terms: string[]
  metadata_terms: string[]
  /**
   * The upload token that created the video, or the token or key of an upload that was removed. Other tokens cannot fill
   * the video.
   */
  upload_token: string | null
  /** Both are set while the video is discarded: it can be restored until `deletes_at`. */
  discarded_at: Date | null
  deletes_at: Date | null
}

type VideoCountRow = { environment: Environment; tag: string; videos: number }

type VideoCountChangeRow = { environment: Environment; tags: string[]; change: number }

declare module '../tables.ts' {
  interface Tables {
    /** A view of `all_videos` without discarded videos. For its readers, a discarded video does not exist. */
    videos: VideoRow
    /** For statements that must see discarded videos: those that list, restore, delete or clean up. */
    all_videos: VideoRow
    video_counts: VideoCountRow
    video_count_changes: VideoCountChangeRow
  }
}
