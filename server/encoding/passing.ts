import { isUnreachable } from '../lib/db.ts'
import { FilesProblem } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { failureOf } from '../media/failure.ts'

const passingCodes = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENOMEM']

/** What has to do with the disk, the store or the database, not with the video: it is tried again, and counts for nothing. */
export function isPassing(error: unknown): boolean {
  if (error instanceof FilesProblem || isUnreachable(error)) return true
  if (passingCodes.includes((error as NodeJS.ErrnoException).code ?? '')) return true
  return error instanceof RunError && failureOf(error) === 'host'
}
