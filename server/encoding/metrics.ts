import { isUnreachable } from '../lib/database/errors.ts'
import { FileNotFoundError, FileStoreError } from '../lib/files/files.ts'
import { defineCounter } from '../lib/metrics.ts'
import { RunError } from '../lib/run.ts'
import { failureOf, failures } from '../media/failure.ts'
import { qualities } from '../media/ladder.ts'
import { Unreadable } from '../media/probe.ts'
import { isTransient } from '../media/transient-errors.ts'

export const encodedSeconds = defineCounter({
  name: 'kinora_encoded_seconds_total',
  help: 'Seconds of media that were encoded, or copied from the source, and stored',
  labels: { quality: [...qualities, 'audio'], method: ['encoded', 'copied'] },
})

const causes = [...failures, 'unreadable', 'missing', 'store', 'database', 'other'] as const
export type EncodingFailure = (typeof causes)[number]

export const encodingFailures = defineCounter({
  name: 'kinora_encoding_failures_total',
  help: 'Videos, qualities and MP4s that failed for good, by step and cause',
  labels: { step: ['plan', 'encode', 'mp4'], cause: causes },
})

export const encodingRetries = defineCounter({
  name: 'kinora_encoding_retries_total',
  help: 'Attempts to encode a chunk that failed and are repeated, by cause',
  labels: { cause: causes },
})

/** `store` also stands for a full disk. */
export function causeOf(error: unknown): EncodingFailure {
  if (error instanceof Unreadable) return 'unreadable'
  if (error instanceof RunError) return failureOf(error)
  if (error instanceof FileNotFoundError) return 'missing'
  if (isUnreachable(error)) return 'database'
  return error instanceof FileStoreError || isTransient(error) ? 'store' : 'other'
}
