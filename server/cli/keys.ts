import { createKey, KeyError, revokeKey } from '../accounts/keys.ts'
import { listKeys } from '../accounts/store.ts'
import { readConfig } from '../config.ts'
import { type Database, openDatabase } from '../database.ts'
import type { Environment } from '../environments.ts'
import { DatabaseError } from '../lib/db.ts'
import { createLog } from '../lib/log.ts'
import { PostgresError } from '../lib/postgres/open.ts'
import { CommandError, type KeyOptions, UsageError } from './errors.ts'

function requireEnvironmentAndName({ environment, name }: KeyOptions): {
  environment: Environment
  name: string
} {
  if (!environment) throw new UsageError('--environment production or --environment sandbox is required.')
  if (!name) throw new UsageError('--name is required.')
  return { environment, name }
}

type Work = (db: Database['db']) => Promise<string>

/** Each command checks its options first and returns the work that needs the database. */
const keyCommands: Record<string, (options: KeyOptions) => Work> = {
  'keys create'(options) {
    const { environment, name } = requireEnvironmentAndName(options)
    return async (db) => {
      const created = await createKey(db, environment, name, new Date())
      return options.json
        ? JSON.stringify(created)
        : `${created.key}\nThis is the only time the key is shown.`
    }
  },

  'keys list'(options) {
    return async (db) => {
      const keys = (await listKeys(db, options.environment)).map((row) => ({
        id: row.id,
        environment: row.environment,
        name: row.name,
        createdAt: row.created_at,
        revokedAt: row.revoked_at,
      }))
      if (options.json) return JSON.stringify(keys)
      if (keys.length === 0) return 'There are no keys.'
      return keys
        .map((key) => {
          const state = key.revokedAt ? `revoked ${key.revokedAt.toISOString()}` : 'active'
          return `${key.environment.padEnd(10)}  ${key.name.padEnd(24)}  created ${key.createdAt.toISOString()}  ${state}`
        })
        .join('\n')
    }
  },

  'keys revoke'(options) {
    const { environment, name } = requireEnvironmentAndName(options)
    return async (db) => {
      const revoked = await revokeKey(db, environment, name, new Date())
      if (!revoked) throw new KeyError(`The ${environment} environment has no active key named "${name}".`)
      if (options.json)
        return JSON.stringify({ id: revoked.id, environment, name, revokedAt: revoked.revoked_at })
      return `The key "${name}" of the ${environment} environment no longer works.`
    }
  },
}

/** Returns the text that the command prints. */
export async function runKeyCommand(command: string, options: KeyOptions): Promise<string> {
  const work = keyCommands[command]!(options)
  try {
    const database = await openDatabase(readConfig(process.env), createLog('silent', false))
    try {
      return await work(database.db)
    } finally {
      await database.close()
    }
  } catch (error) {
    const isKnown = [KeyError, DatabaseError, PostgresError].some((kind) => error instanceof kind)
    throw isKnown ? new CommandError((error as Error).message, { cause: error }) : error
  }
}
