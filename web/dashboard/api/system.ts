import { queryOptions } from '@tanstack/react-query'
import { type Environment, request } from './client.ts'

export type StorageKind =
  | 'sources'
  | 'recordings'
  | 'hls'
  | 'mp4'
  | 'thumbnails'
  | 'captions'
  | 'live'
  | 'uploads'
  | 'discarded'

export type Stored = {
  environment: Environment
  kind: StorageKind
  /** Of HLS. */
  quality: string | null
  files: number
  bytes: number
}

export type Failure = {
  videoId: string
  environment: Environment
  title: string
  /** Null if the whole video has failed. */
  quality: string | null
  reason: string
  failedAt: string
  /** Whether encoding it again may help. */
  canRetry: boolean
}

/** A webhook whose last delivery has failed. */
export type FailingWebhook = {
  webhookId: string
  environment: Environment
  url: string
  failedAt: string
  /** Of the last attempt: the status code, or why there was no response. */
  status: number | null
  error: string | null
}

export type Setting = {
  name: string
  /** Null if it is not set, or if it is secret. */
  value: string | null
  isSecret: boolean
  isDefault: boolean
  meaning: string
}

export type ServiceProcess = {
  id: string
  host: string
  pid: number
  version: string
  roles: string[]
  encodeSlots: number
  startedAt: string
  seenAt: string
  isAlive: boolean
}

/** What the doctor found. `advice` says what to change. `isRunning`: a newer result will be there soon. */
export type Diagnosis = {
  checkedAt: string
  isRunning: boolean
  warnings: { name: string; state: 'warning' | 'failed'; message: string; advice: string | null }[]
}

export type System = {
  version: string
  node: string
  ffmpeg: string | null
  postgres: string
  uptimeSeconds: number
  health: Record<'database' | 'files', 'reachable' | 'unreachable'>
  roles: string[]
  encodeSlots: { total: number; busy: number }
  queue: { waiting: number; running: number; estimatedSeconds: number | null }
  /** Null while it is counted. */
  storage: Stored[] | null
  /** Null if the files are in an S3 store. */
  disk: { totalBytes: number; freeBytes: number } | null
  /** Uploads, recordings and encodings pause. */
  isDiskLow: boolean
  failures: Failure[]
  failingWebhooks: FailingWebhook[]
  /** Of all machines. */
  processes: ServiceProcess[]
  backup: {
    last: { at: string; destination: string; bytes: number | null } | null
    /** Only if it is later than the last one that succeeded. */
    failure: { at: string; reason: string | null } | null
  }
  certificate: {
    source: 'acme' | 'file' | 'none'
    domains: string[]
    notAfter: string | null
    renewAt: string | null
    lastError: string | null
  }
  /** Null until the checks have run for the first time. */
  diagnosis: Diagnosis | null
  settings: Setting[]
}

/** The same for both environments. The key has one, because changes are reported for an environment. */
export const systemQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'system', 'list'],
    queryFn: ({ signal }) => request<System>('GET', '/system', { signal }),
  })
