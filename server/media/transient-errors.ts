import { isUnreachable } from '../lib/database/errors.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { failureOf } from './failure.ts'

const transientCodes = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENOMEM']

/** The disk, the file store or the database is the cause, not the video. The work is retried without limit. */
export function isTransient(error: unknown): boolean {
  if (error instanceof FileStoreError || isUnreachable(error)) return true
  if (transientCodes.includes((error as NodeJS.ErrnoException).code ?? '')) return true
  return error instanceof RunError && failureOf(error) === 'host'
}
