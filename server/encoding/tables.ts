import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Rational, SourceMedia } from '../media/source-media.ts'

export type EncodingState = 'encoding' | 'encoded' | 'failed'

/** How a source is encoded. Fixed when the work begins, so that all workers do the same. */
export type EncodingPlan = {
  /** Of the file that is decoded: the source, or a copy in which one can seek. */
  key: string
  offsetSeconds: number
  rate: Rational
  frames: number
  rungs: { quality: string; width: number; height: number; maxKbps: number }[]
  hasSound: boolean
  isWatermarked: boolean
  /** The size of the source, in proportion to which it may cost CPU time. Plans of earlier versions have no limit. */
  sourceBytes?: number
}

export type EncodingRow = {
  video_id: string
  environment: Environment
  state: EncodingState
  /** Why nothing of it can be played. */
  failure: string | null
  sound_failure: string | null
  media: ColumnType<SourceMedia | null, string | null, never>
  plan: ColumnType<EncodingPlan | null, string | null, never>
  created_at: Date
  finished_at: Date | null
}

/** A run of segments that is to be encoded, of the sound or of some qualities. */
export type ChunkRow = {
  id: Generated<number>
  video_id: string
  environment: Environment
  track: 'picture' | 'sound'
  qualities: string[]
  first_segment: number
  segments: number
  /** The lowest first. */
  priority: number
  not_before: Date
  /** Who encodes it, until when unless renewed. */
  holder: string | null
  held_until: Date | null
  failures: Generated<number>
  losses: Generated<number>
}

export type EncodingTables = {
  encodings: EncodingRow
  chunks: ChunkRow
}
