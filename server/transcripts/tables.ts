import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'

/** `unprocessable` means that there is nothing to transcribe: no audio, no speech, or no known language. */
export type TranscriptState = 'waiting' | 'running' | 'completed' | 'failed' | 'unprocessable'

export type TranscriptRow = {
  video_id: string
  environment: Environment
  state: TranscriptState
  /** Why the state is `failed` or `unprocessable`. */
  failure: string | null
  /** Set by the owner, or detected in the first piece with speech. Null until then. */
  language: string | null
  /** Of the audio. Null until the first piece is recognized. */
  duration_ms: number | null
  /** Failed attempts at the current piece. */
  attempts: Generated<number>
  next_at: Generated<Date>
  lease_owner: string | null
  lease_until: Date | null
  created_at: Generated<Date>
}

/** Words that are spoken one after the other: a sentence, a part of one, or a single word. Times are those of the video. */
export type Phrase = { fromMs: number; toMs: number; text: string }

/** A part of the audio and what is spoken in it. */
export type TranscriptPieceRow = {
  video_id: string
  from_ms: number
  to_ms: number
  /** Whether the audio ends with this piece. */
  is_last: boolean
  phrases: ColumnType<Phrase[], string, string>
}

export const summaryAttributes = ['abstract', 'takeaways'] as const
export type SummaryAttribute = (typeof summaryAttributes)[number]

export const summaryOrigins = ['api', 'auto'] as const
export type SummaryOrigin = (typeof summaryOrigins)[number]

/** `missing` means that the text has to be written by the owner; `waiting`, that it will be generated. */
export const summaryStates = ['missing', 'waiting', 'failed', 'completed', 'unprocessable'] as const
export type SummaryState = (typeof summaryStates)[number]

export type SummaryRow = {
  id: string
  environment: Environment
  video_id: string
  origin: SummaryOrigin
  state: SummaryState
  /** Why the state is `failed` or `unprocessable`. */
  failure: string | null
  /** What to generate. */
  attributes: SummaryAttribute[]
  abstract: string | null
  takeaways: string[] | null
  /** Failed attempts to generate it. */
  attempts: Generated<number>
  next_at: Generated<Date>
  lease_owner: string | null
  lease_until: Date | null
  created_at: Date
  updated_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    transcripts: TranscriptRow
    transcript_pieces: TranscriptPieceRow
    summaries: SummaryRow
  }
}
