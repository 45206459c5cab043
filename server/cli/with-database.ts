import type { Pool } from 'pg'
import { KeyError } from '../accounts/keys.ts'
import { BackupError } from '../backups/errors.ts'
import type { Config } from '../config.ts'
import { type Database, hasDatabase, openDatabase } from '../database.ts'
import { DatabaseError, isUnreachable, messageOf } from '../lib/database/errors.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { createLog, type Log } from '../lib/log.ts'
import { PostgresError } from '../lib/postgres/open.ts'
import { readConfig } from '../read-config.ts'
import { CommandError } from './errors.ts'

const known = [KeyError, DatabaseError, PostgresError, FileStoreError, BackupError]

export type Opened = { config: Config; db: Database['db']; locks: Database['locks']; pool: Pool; log: Log }

/**
 * Opens the database with the settings of the service, whether the service runs or not. Only a command with `mayCreate`
 * creates it: in a wrong folder, others would show an empty installation.
 */
export async function withDatabase<T>(
  work: (opened: Opened) => Promise<T>,
  { mayCreate = false } = {},
): Promise<T> {
  const config = readConfig(process.env)
  const log = createLog('silent', false)
  return withSentences(async () => {
    if (!mayCreate && !hasDatabase(config))
      throw new CommandError(
        `There is no database in ${config.dataDir}. Run the command in the folder of the service, or set KINORA_DATA_DIR.`,
      )
    const database = await openDatabase(config, log)
    try {
      return await work({ config, db: database.db, locks: database.locks, pool: database.pools.locks, log })
    } finally {
      await database.close()
    }
  })
}

/** Errors whose message is a sentence end the command without a stack. */
export async function withSentences<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isKnown = known.some((kind) => error instanceof kind) || isDiskError(error)
    if (isKnown) throw new CommandError((error as Error).message, { cause: error })
    // An error of a file may have the same code, and a path.
    if (isUnreachable(error) && !('path' in (error as Error)))
      throw new CommandError(`The database cannot be reached: ${messageOf(error)}.`, { cause: error })
    throw error
  }
}

const diskCodes = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO']

/** Its message has the path. */
const isDiskError = (error: unknown) =>
  error instanceof Error && 'path' in error && 'code' in error && diskCodes.includes(error.code as string)
