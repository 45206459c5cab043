/** What keeps the embedded Postgres from working: one sentence for a person, the detail in `cause`. */
export class PostgresProblem extends Error {
  override readonly name = 'PostgresProblem'
}

export const OWN_SERVER = 'set KINORA_DATABASE_URL to the address of a Postgres server'

const diskFull = (folder: string) =>
  `The disk that holds ${folder} is full, so the database cannot work: free some space and start again.`

/** For errors of our own file operations. */
export function fileProblem(error: unknown, folder: string): PostgresProblem {
  if (error instanceof PostgresProblem) return error
  const cause = { cause: error }
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new PostgresProblem(diskFull(folder), cause)
    case 'EACCES':
    case 'EPERM':
      return new PostgresProblem(
        `The database folder ${folder} cannot be created or written by this user (uid ${process.getuid?.()}): ` +
          'give it that folder, or choose another with KINORA_DATA_DIR.',
        cause,
      )
    case 'EROFS':
      return new PostgresProblem(
        `The database folder ${folder} is on a read-only file system: choose another with KINORA_DATA_DIR.`,
        cause,
      )
    case 'ENOTDIR':
    case 'EEXIST':
      return new PostgresProblem(
        `The database folder ${folder} cannot be used because a file is in its way: ` +
          'move that file, or choose another folder with KINORA_DATA_DIR.',
        cause,
      )
    default:
      return new PostgresProblem(
        `The database folder ${folder} cannot be used (${errorMessage(error)}).`,
        cause,
      )
  }
}

/** For a program of Postgres that could not even be started. */
export function spawnProblem(error: unknown, uid: number): PostgresProblem {
  const cause = { cause: error }
  switch (errorCode(error)) {
    case 'ENOENT':
      return new PostgresProblem(
        `The Postgres program does not run here, because it needs glibc: use a glibc system, or ${OWN_SERVER}.`,
        cause,
      )
    case 'EPERM':
    case 'EINVAL':
      return new PostgresProblem(
        `Postgres refuses to run as root, and this root may not run it as uid ${uid}: ` +
          `start Kinora as an ordinary user, or ${OWN_SERVER}.`,
        cause,
      )
    default:
      return new PostgresProblem(
        `The Postgres program cannot be run as uid ${uid} (${errorMessage(error)}): ` +
          `let that user into the folder that Kinora is installed in, or ${OWN_SERVER}.`,
        cause,
      )
  }
}

export const missingUser = (uid: number) =>
  new PostgresProblem(
    `Postgres needs a user with id ${uid} in /etc/passwd, and there is none: add one, or ${OWN_SERVER}.`,
  )

/** For what initdb or the server itself wrote before it gave up. */
export function outputProblem(
  what: string,
  output: string,
  context: { folder: string; uid: number; cause: unknown },
): PostgresProblem {
  const { folder, uid } = context
  return new PostgresProblem(sentence(), { cause: context.cause })

  function sentence(): string {
    const library = /error while loading shared libraries: ([^:\s]+)/.exec(output)?.[1]
    if (library) return `Postgres needs the library ${library}: install it on this machine, or ${OWN_SERVER}.`
    if (/could not look up effective user ID/.test(output)) return missingUser(uid).message
    // Shared memory has a size and a number of its own; the disk has nothing to do with it.
    if (/shared memory.*(No space left on device|Cannot allocate memory)/.test(output)) {
      return 'Postgres cannot get the shared memory it needs: give this machine or container more of it.'
    }
    if (/No space left on device|Check free disk space|Disk quota exceeded/.test(output))
      return diskFull(folder)
    if (/Permission denied/.test(output)) {
      return (
        `Postgres runs as uid ${uid}, which may not use ${folder}: ` +
        'give that folder to the user who starts Kinora, with chown -R.'
      )
    }
    const last = [...output.matchAll(/(?:FATAL|PANIC|error):\s+(.+)/g)].at(-1)?.[1]
    return last ? `${what} in ${folder}: ${last}.` : `${what} in ${folder}, and did not say why.`
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
