import type * as schemas from './schemas.ts'

export type Page<T> = { data: T[]; pagination: Omit<schemas.Pagination, 'currentPageItems' | 'links'> }

export type Video = schemas.Video & { assets: NonNullable<schemas.Video['assets']> }
export type Pair = Video['metadata'][number]

export type { VideoStatus } from './schemas.ts'
export type QualityStatus = schemas.VideoStatus['encoding']['qualities'][number]

// The routes of the dashboard itself are not part of openapi.json.

export type Session = {
  csrfToken: string
  mustChoosePassword: boolean
  /** Not for some minutes after a login by link. */
  needsCurrentPassword: boolean
  passwordIsSetting: boolean
  hasPassword: boolean
  version: string
  publicUrl: string
  rtmpUrl: string | null
  rtmpsUrl: string | null
  /** Of WHIP. Browsers can broadcast if there is one. */
  whipUrl: string | null
  srtUrl: string | null
  restoreHours: number
  /** What happens to the videos of the sandbox. 0: no limit. */
  sandbox: { seconds: number; hasWatermark: boolean; hours: number }
  /** Whether speech recognition is configured. */
  canTranscribe: boolean
  /** Whether a language model for summaries is configured. */
  canSummarize: boolean
  expiresAt: string
}

export type ApiKey = {
  keyId: string
  name: string
  createdAt: string
  lastUsedAt: string | null
  /** The setting that contains it, if there is one. */
  setting: string | null
}
export type NewApiKey = ApiKey & { key: string }
