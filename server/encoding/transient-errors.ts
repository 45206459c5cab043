import { isUnreachable } from '../lib/db.ts'
import { FilesProblem } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { failureOf, isFinal } from '../media/failure.ts'

const transientCodes = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENOMEM']

/** The disk, the file store or the database is the cause, not the video. The work is retried without limit. */
export function isTransient(error: unknown): boolean {
  if (error instanceof FilesProblem || isUnreachable(error)) return true
  if (transientCodes.includes((error as NodeJS.ErrnoException).code ?? '')) return true
  return error instanceof RunError && failureOf(error) === 'host'
}

/**
 * Whether a job gives up on an error of ffmpeg after this number of retries. Retries for other reasons are counted too:
 * that ffmpeg is killed right after an hour without the file store is rare enough.
 */
export const isFinalAfter = (error: unknown, retries: number): error is RunError =>
  error instanceof RunError && isFinal(error, retries + 1)
