import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { createKey, KeyProblem, revokeKey } from '../accounts/keys.ts'
import { listKeys } from '../accounts/store.ts'
import { readConfig, SettingsProblem } from '../config.ts'
import { type Environment, environments } from '../contracts/tables.ts'
import { type Database, openDatabase } from '../database.ts'
import { DatabaseProblem } from '../lib/db.ts'
import { createLog } from '../lib/log.ts'
import { PostgresProblem } from '../lib/postgres/open.ts'
import { serve } from '../main.ts'
import { progressBar, UploadProblem, uploadFile } from './upload.ts'

const usage = `kinora: a self-hosted video hosting API

  kinora start                                                    run the service
  kinora upload FILE… [--title T] [--private]                     upload files; KINORA_KEY has the API key
  kinora keys create --environment production|sandbox --name N    make an API key and show it this once
  kinora keys list   [--environment production|sandbox]           list API keys, without their values
  kinora keys revoke --environment production|sandbox --name N    end an API key at once

Add --json for output that programs read. Settings are environment variables: see docs/settings.md.`

/** One helpful sentence about how the command was called. */
class UsageProblem extends Error {}

type Options = {
  environment: Environment | undefined
  name: string | undefined
  json: boolean
  title: string | undefined
  private: boolean
}

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
          title: { type: 'string', short: 't' },
          private: { type: 'boolean', default: false },
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
  const { name, json, title, private: isPrivate, help } = values
  return { words: positionals, options: { environment, name, json, title, private: isPrivate }, help }
}

function needed({ environment, name }: Options): { environment: Environment; name: string } {
  if (!environment) throw new UsageProblem('--environment production or --environment sandbox is needed.')
  if (!name) throw new UsageProblem('--name is needed.')
  return { environment, name }
}

type Work = (db: Database['db']) => Promise<string>

/** Each checks its options before the database is opened. */
const commands: Record<string, (options: Options) => Work> = {
  'keys create'(options) {
    const { environment, name } = needed(options)
    return async (db) => {
      const made = await createKey(db, environment, name, new Date())
      return options.json ? JSON.stringify(made) : `${made.key}\nThis is the only time the key is shown.`
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
          return `${key.environment.padEnd(10)}  ${key.name.padEnd(24)}  made ${key.createdAt.toISOString()}  ${state}`
        })
        .join('\n')
    }
  },

  'keys revoke'(options) {
    const { environment, name } = needed(options)
    return async (db) => {
      const revoked = await revokeKey(db, environment, name, new Date())
      if (!revoked) throw new KeyProblem(`The ${environment} environment has no active key named "${name}".`)
      if (options.json)
        return JSON.stringify({ id: revoked.id, environment, name, revokedAt: revoked.revoked_at })
      return `The key "${name}" of the ${environment} environment no longer works.`
    }
  },
}

async function upload(files: string[], options: Options): Promise<void> {
  if (files.length === 0) throw new UsageProblem('Which file? kinora upload FILE…')
  const { cli } = readConfig(process.env)
  if (!cli.key) throw new UsageProblem('Set KINORA_KEY to an API key: "kinora keys create" makes one.')
  for (const file of files) {
    const settings = { url: cli.url, key: cli.key, title: options.title, isPrivate: options.private }
    const player = await uploadFile(file, settings, progressBar(basename(file), process.stderr))
    console.log(options.json ? JSON.stringify({ file, player }) : player)
  }
}

/** The `kinora` command. */
export async function main(args: string[]): Promise<void> {
  try {
    const { words, options, help } = readOptions(args)
    const command = words.join(' ')
    if (help || command === '' || command === 'help') return console.log(usage)
    if (command === 'start') return await serve()
    if (words[0] === 'upload') return await upload(words.slice(1), options)
    const prepare = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (!prepare) throw new UsageProblem(`There is no command "${command}".`)
    const work = prepare(options)
    const database = await openDatabase(readConfig(process.env), createLog('silent', false))
    try {
      console.log(await work(database.db))
    } finally {
      await database.close()
    }
  } catch (error) {
    const isKnown = [
      UsageProblem,
      KeyProblem,
      SettingsProblem,
      DatabaseProblem,
      PostgresProblem,
      UploadProblem,
    ].some((kind) => error instanceof kind)
    if (!isKnown) throw error
    console.error(`kinora: ${(error as Error).message}`)
    if (error instanceof UsageProblem) console.error('\nkinora --help shows what there is.')
    process.exitCode = error instanceof UsageProblem ? 2 : 1
  }
}
