import { KeyError } from '../accounts/keys.ts'
import type { Config } from '../config.ts'
import { type Database, openDatabase } from '../database.ts'
import { DatabaseError } from '../lib/db.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { createLog, type Log } from '../lib/log.ts'
import { PostgresError } from '../lib/postgres/open.ts'
import { readConfig } from '../read-config.ts'
import { CommandError } from './errors.ts'

const known = [KeyError, DatabaseError, PostgresError, FileStoreError]

export type Opened = { config: Config; db: Database['db']; log: Log }

/** Opens the database with the settings of the service, whether the service runs or not. */
export async function withDatabase<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = readConfig(process.env)
  const log = createLog('silent', false)
  try {
    const database = await openDatabase(config, log)
    try {
      return await work({ config, db: database.db, log })
    } finally {
      await database.close()
    }
  } catch (error) {
    const isKnown = known.some((kind) => error instanceof kind)
    throw isKnown ? new CommandError((error as Error).message, { cause: error }) : error
  }
}
