import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'
import type { ByteRange } from '../lib/byte-ranges.ts'
import type { Rational, SourceMedia } from '../media/source-media.ts'
import type { Area } from '../media/watermark.ts'

export type EncodingState = 'encoding' | 'encoded' | 'failed'

/**
 * How a source is encoded. Fixed when the encoding starts, so that all workers do the same; a partial one only gets longer.
 * Stored as JSON.
 */
export type EncodingPlan = {
  /** The key of the file to decode: the source, or a seekable copy. */
  key: string
  /** The position in the source where the video starts. */
  offsetSeconds: number
  rate: Rational
  frames: number
  /** The first frame of each segment, if the video is copied. Otherwise the length of segments follows from the rate. */
  starts?: number[]
  /** The lengths of the short segments at the start. */
  shortSeconds?: number[]
  rungs: { quality: string; width: number; height: number; maxKbps: number }[]
  /** Whether there is an audio stream. */
  hasSound: boolean
  /** The highest quality consists of the frames of the source, which are not encoded again. */
  copiesVideo?: true
  /** By how many frames a copied frame is shown at most before its place in the decoding order. */
  copiedDelay?: number
  /** Copied frames do not fill the grid. The frame before a gap is shown until the next one. */
  hasGaps?: true
  /** The audio consists of the AAC frames of the source. */
  copiesAudio?: true
  /** The sample rate of copied audio. */
  audioRate?: number
  /** The maximum bitrate of copied audio. */
  audioKbps?: number
  /** The index of the first AAC frame of the source on the grid. Negative if it comes before the start. */
  firstAudioFrame?: number
  /** Whether the watermark of the sandbox is added. */
  isWatermarked: boolean
  /** The video's own watermark. */
  watermark?: { area: Area; opacity: number }
  /** The source changes its size. Frames of another shape get bars. */
  hasSeveralSizes?: boolean
  /** The size of the source. CPU limits are proportional to it. Plans of earlier versions have no limit. */
  sourceBytes?: number
  /** Counts the earlier encodings of the video whose segments caches may have. */
  revision?: number
  /** The source has not arrived completely. The plan is that of its beginning, and is replaced when more has arrived. */
  partial?: PartialPlan
}

export type PartialPlan = {
  /** Whether viewers may watch the video already, unless its owner has decided. */
  isPlayable: boolean
  /** The upload that the beginning arrives with. */
  handle: string
  /** The bytes of the file that the plan was made from, and may be read. Ascending, without overlaps. */
  ranges: ByteRange[]
  /** Chunks are encoded from the file of the upload, and not from a copy of its streams. */
  isRead: boolean
  /** The size of the complete file, if it is known. */
  bytes: number | null
  /** The duration of the complete video, if it is known. */
  totalSeconds: number | null
  /** Which part of the complete video the plan is, as far as that is known. */
  share: number
  /** The copy of the plan before this one. Chunks in progress may still read it. */
  oldKey?: string
}

export type EncodingRow = {
  video_id: string
  environment: Environment
  state: EncodingState
  /** Why nothing can be played. */
  failure: string | null
  /** Why the audio could not be encoded. */
  sound_failure: string | null
  media: ColumnType<SourceMedia | null, string | null, string>
  plan: ColumnType<EncodingPlan | null, string | null, string>
  created_at: Date
  finished_at: Date | null
  /** Whether the event about the end of the encoding is recorded. */
  is_end_reported: Generated<boolean>
}

/** Consecutive segments to encode, of the audio or of some qualities. */
export type ChunkRow = {
  id: Generated<number>
  video_id: string
  environment: Environment
  /** The stream to encode: `picture` is video, `sound` is audio. */
  track: 'picture' | 'sound'
  qualities: string[]
  first_segment: number
  segments: number
  /** Chunks with a lower number are encoded first. */
  priority: number
  not_before: Date
  /** The worker that has a lease on the chunk, and when the lease ends unless it is renewed. */
  lease_owner: string | null
  lease_until: Date | null
  /** Failed attempts. */
  failures: Generated<number>
  /** Attempts that ended with the loss of the worker or of its ffmpeg. */
  losses: Generated<number>
  /** The video is discarded: no worker claims the chunk until the video is restored. */
  is_paused: Generated<boolean>
}

type EncodingRevisionRow = { video_id: string; revision: number }

type RenditionType = 'hls' | 'mp4'

export type RenditionState = 'waiting' | 'encoding' | 'encoded' | 'failed'

/** A quality of a video, as HLS or as MP4. */
export type RenditionRow = {
  video_id: string
  type: RenditionType
  quality: string
  /** Of the quality, for sorting. */
  height: number
  state: RenditionState
  failure: string | null
  /** The key of the MP4. Null for HLS, whose segments have keys of their own. */
  key: string | null
  /** The size of the MP4. Null for HLS, and for an MP4 made by a version that did not store it. */
  bytes: number | null
}

/** Consecutive segments, each a file below the key. `rendition` is a quality or `sound`. */
export type SegmentsRow = {
  video_id: string
  rendition: string
  first_segment: number
  sizes: number[]
  key: string
}

/** The initialization segment of a rendition. */
export type InitializationRow = { video_id: string; rendition: string; codec: string; bytes: Buffer }

declare module '../tables.ts' {
  interface Tables {
    encodings: EncodingRow
    encoding_revisions: EncodingRevisionRow
    chunks: ChunkRow
    renditions: RenditionRow
    segments: SegmentsRow
    initializations: InitializationRow
  }
}
