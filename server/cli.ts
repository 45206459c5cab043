import { parseArgs } from 'node:util'
import { createKey, KeyProblem, revokeKey } from './accounts/keys.ts'
import { listKeys } from './accounts/store.ts'
import { readConfig, SettingsProblem } from './config.ts'
import { type Environment, environments } from './contracts/tables.ts'
import { type Database, openDatabase } from './database.ts'
import { DatabaseProblem } from './lib/db.ts'
import { createLog } from './lib/log.ts'
import { PostgresProblem } from './lib/postgres/open.ts'
import { serve } from './main.ts'

const usage = `kinora: a self-hosted video hosting API

  kinora start                                                    run the service
  kinora keys create --environment production|sandbox --name N    make an API key and show it this once
  kinora keys list   [--environment production|sandbox]           list API keys, without their values
  kinora keys revoke --environment production|sandbox --name N    end an API key at once

Add --json for output that programs read. Settings are environment variables: see docs/settings.md.`

/** One helpful sentence about how the command was called. */
class UsageProblem extends Error {}

type Options = { environment: Environment | undefined; name: string | undefined; json: boolean }

function readOptions(args: string[]): { words: string[]; options: Options; help: boolean } {
  const { values, positionals } = (() => {
    try {
      return parseArgs({
        args,
        allowPositionals: true,
        options: {
          environment: { type: 'string', short: 'e' },
          name: { type: 'string', short: 'n' },
          json: { type: 'boolean', default: false },
          help: { type: 'boolean', short: 'h', default: false },
        },
      })
    } catch (error) {
      throw new UsageProblem((error as Error).message)
    }
  })()
  const environment = environments.find((word) => word === values.environment)
  if (values.environment !== undefined && !environment) {
    throw new UsageProblem(`--environment must be production or sandbox, not "${values.environment}".`)
  }
  if (values.name !== undefined && !/^\S(.{0,98}\S)?$/.test(values.name)) {
    throw new UsageProblem('--name must have 1 to 100 characters and neither begin nor end with a space.')
  }
  return {
    words: positionals,
    options: { environment, name: values.name, json: values.json },
    help: values.help,
  }
}

function needed({ environment, name }: Options): { environment: Environment; name: string } {
  if (!environment) throw new UsageProblem('--environment production or --environment sandbox is needed.')
  if (!name) throw new UsageProblem('--name is needed.')
  return { environment, name }
}

const commands: Record<string, (db: Database['db'], options: Options) => Promise<string>> = {
  async 'keys create'(db, options) {
    const { environment, name } = needed(options)
    const made = await createKey(db, environment, name, new Date())
    if (options.json) return JSON.stringify(made)
    return `${made.key}\nThis is the only time the key is shown.`
  },

  async 'keys list'(db, options) {
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
        return `${key.environment.padEnd(10)}  ${key.name.padEnd(24)}  made ${key.createdAt.toISOString()}  ${state}`
      })
      .join('\n')
  },

  async 'keys revoke'(db, options) {
    const { environment, name } = needed(options)
    const revoked = await revokeKey(db, environment, name, new Date())
    if (!revoked) throw new KeyProblem(`The ${environment} environment has no active key named "${name}".`)
    if (options.json)
      return JSON.stringify({ id: revoked.id, environment, name, revokedAt: revoked.revoked_at })
    return `The key "${name}" of the ${environment} environment no longer works.`
  },
}

/** The `kinora` command. */
export async function main(args: string[]): Promise<void> {
  try {
    const { words, options, help } = readOptions(args)
    const command = words.join(' ')
    if (help || command === '' || command === 'help') return console.log(usage)
    if (command === 'start') return await serve()
    const run = commands[command]
    if (!run) throw new UsageProblem(`There is no command "${command}".`)
    const database = await openDatabase(readConfig(process.env), createLog('silent', false))
    try {
      console.log(await run(database.db, options))
    } finally {
      await database.close()
    }
  } catch (error) {
    const isKnown = [UsageProblem, KeyProblem, SettingsProblem, DatabaseProblem, PostgresProblem].some(
      (kind) => error instanceof kind,
    )
    if (!isKnown) throw error
    console.error(`kinora: ${(error as Error).message}`)
    if (error instanceof UsageProblem) console.error('\nkinora --help shows what there is.')
    process.exitCode = error instanceof UsageProblem ? 2 : 1
  }
}
