/** A sentence about why the embedded Postgres does not work. `cause` has the details. */
export class PostgresError extends Error {
  override readonly name = 'PostgresError'
}

export const OWN_SERVER = 'set KINORA_DATABASE_URL to the URL of a Postgres server'

const diskFull = (folder: string) =>
  `The disk that holds ${folder} is full, so the database cannot work: free some space and start again.`

/** For errors of file operations in this process. */
export function fileError(error: unknown, folder: string): PostgresError {
  if (error instanceof PostgresError) return error
  const cause = { cause: error }
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new PostgresError(diskFull(folder), cause)
    case 'EACCES':
    case 'EPERM':
      return new PostgresError(
        `The database folder ${folder} cannot be created or written by this user (uid ${process.getuid?.()}): ` +
          'give that folder to the user, or choose another folder with KINORA_DATA_DIR.',
        cause,
      )
    case 'EROFS':
      return new PostgresError(
        `The database folder ${folder} is on a read-only file system: choose another folder with KINORA_DATA_DIR.`,
        cause,
      )
    case 'ENOTDIR':
    case 'EEXIST':
      return new PostgresError(
        `The database folder ${folder} cannot be used because a file is in its place: ` +
          'move that file, or choose another folder with KINORA_DATA_DIR.',
        cause,
      )
    default:
      return new PostgresError(
        `The database folder ${folder} cannot be used (${errorMessage(error)}).`,
        cause,
      )
  }
}

/** For a Postgres program that could not be started. */
export function spawnError(error: unknown, uid: number): PostgresError {
  const cause = { cause: error }
  switch (errorCode(error)) {
    case 'ENOENT':
      return new PostgresError(
        `The Postgres program does not run on this system, because it needs glibc: use a glibc system, or ${OWN_SERVER}.`,
        cause,
      )
    case 'EPERM':
    case 'EINVAL':
      return new PostgresError(
        `Postgres refuses to run as root, and Kinora is not allowed to run it as uid ${uid}: ` +
          `start Kinora as an ordinary user, or ${OWN_SERVER}.`,
        cause,
      )
    default:
      return new PostgresError(
        `The Postgres program cannot be run as uid ${uid} (${errorMessage(error)}): ` +
          `give that user access to the folder in which Kinora is installed, or ${OWN_SERVER}.`,
        cause,
      )
  }
}

export const missingUser = (uid: number) =>
  new PostgresError(
    `Postgres needs a user with id ${uid} in /etc/passwd: add one, install libnss-wrapper, or ${OWN_SERVER}.`,
  )

/** Explains the output of initdb or of the server after it failed. */
export function outputError(
  what: string,
  output: string,
  context: { folder: string; uid: number; cause: unknown },
): PostgresError {
  const { folder, uid } = context
  return new PostgresError(sentence(), { cause: context.cause })

  function sentence(): string {
    const library = /error while loading shared libraries: ([^:\s]+)/.exec(output)?.[1]
    if (library) return `Postgres needs the library ${library}: install it on this machine, or ${OWN_SERVER}.`
    if (/could not look up effective user ID/.test(output)) return missingUser(uid).message
    // Checked before the disk, because the messages for both contain "No space left on device".
    if (/shared memory.*(No space left on device|Cannot allocate memory)/.test(output)) {
      return 'Postgres does not have enough shared memory: give this machine or container more of it.'
    }
    if (/No space left on device|Check free disk space|Disk quota exceeded/.test(output))
      return diskFull(folder)
    if (/Permission denied/.test(output)) {
      return (
        `Postgres runs as uid ${uid}, which is not allowed to use ${folder}: ` +
        'give that folder to the user who starts Kinora with chown -R.'
      )
    }
    const last = [...output.matchAll(/(?:FATAL|PANIC|error):\s+(.+)/g)].at(-1)?.[1]
    return last ? `${what} in ${folder}: ${last}.` : `${what} in ${folder}, for an unknown reason.`
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
