import type { QualityStatus, VideoStatus } from './types.ts'

/** What the page of one video uses beyond the list of videos. */
export type Ingest = NonNullable<VideoStatus['ingest']> & {
  receivedBytes?: { from: number; to: number; total: number | null }[]
}

export type Transcript = {
  status: 'waiting' | 'running' | 'completed' | 'failed' | 'unprocessable'
  language: string | null
  progress: number
  failure?: string
}

export type Status = {
  /** Null until the first bytes arrive. */
  ingest: Ingest | null
  encoding: Omit<VideoStatus['encoding'], 'qualities'> & { qualities: QualityStatus[] }
  /** Null if no transcript was requested. */
  transcript: Transcript | null
}

export type TrackKind = 'captions' | 'chapters'

/** Captions or chapters in one language. */
export type Track = { language: string; src: string; isDefault: boolean }

export type VideoEvent = { eventId: string; type: string; emittedAt: string; payload: unknown }

export type Summary = {
  summaryId: string
  origin: 'auto' | 'api'
  sourceStatus: 'missing' | 'waiting' | 'failed' | 'completed' | 'unprocessable'
  failure?: string
  updatedAt: string
}

export type SummaryText = { abstract?: string; takeaways?: string[] }
