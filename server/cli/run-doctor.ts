import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { CheckResult, CheckState, DoctorContext } from '../doctor/check.ts'
import { examine } from '../doctor/doctor.ts'
import { openDb, openPool } from '../lib/db.ts'
import { openFiles } from '../lib/files/open.ts'
import { findRunningPostgres } from '../lib/postgres/open.ts'
import { findRunningService } from '../lib/running-services.ts'
import { SettingsError } from '../lib/settings.ts'
import { readConfig } from '../read-config.ts'
import type { Tables } from '../tables.ts'
import type { Output } from './command.ts'

type Env = Record<string, string | undefined>

/** A check that hangs may also keep its connection from closing. */
const closeTimeoutMs = 2_000

export async function runDoctor(output: Output): Promise<void> {
  const { config, problems } = readLeniently(process.env)
  const running = await findRunningService(config.dataDir)
  const database = await openExistingDatabase(config)
  const context: DoctorContext = {
    config,
    env: process.env,
    settingsProblems: problems,
    runningPublicUrl: running.publicUrl,
    db: database?.db,
    files: await findFiles(config),
    localUrl: running.url,
    publicUrl:
      running.publicUrl ?? config.publicUrl ?? `${config.tls ? 'https' : 'http'}://localhost:${config.port}`,
    now: () => new Date(),
  }
  const checks = await examine(context)
  const isHealthy = checks.every(({ state }) => state !== 'failed')
  output.print(format(checks), { isHealthy, checks })
  const timeout = new Promise((resolve) => setTimeout(resolve, closeTimeoutMs).unref())
  await Promise.race([database?.close(), timeout])
  // Something that hangs, such as a network share, must not keep the command from ending.
  process.exitCode = isHealthy ? 0 : 1
  process.stdout.write('', () => process.exit())
}

/** Wrong settings are reported like everything else. The other checks run with their defaults. */
function readLeniently(env: Env): { config: Config; problems: string[] } {
  try {
    return { config: readConfig(env), problems: [] }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const { problems } = error
    const wrong = new Set(problems.flatMap((problem) => problem.match(/\bKINORA_\w+/g) ?? []))
    const rest = Object.entries(env).filter(([name]) => !wrong.has(name))
    return { config: readConfig(Object.fromEntries(rest)), problems }
  }
}

type Database = { db: DoctorContext['db']; close(): Promise<void> }

/** Neither starts a database nor migrates it. Undefined if the embedded one does not run. */
async function openExistingDatabase({ databaseUrl, dataDir }: Config): Promise<Database | undefined> {
  const embedded = databaseUrl ? undefined : await findRunningPostgres(join(dataDir, 'postgres'))
  const connection = databaseUrl ?? embedded?.connection
  if (!connection) return undefined
  const pool: Pool = openPool(connection, () => {}, { name: 'kinora doctor', max: 3 })
  return {
    db: openDb<Tables>(pool),
    async close() {
      await pool.end()
      await embedded?.close()
    },
  }
}

/** Opening a disk store would create its folder. */
async function findFiles(config: Config): Promise<DoctorContext['files']> {
  const hasFolder = await stat(join(config.dataDir, 'files')).then(
    () => true,
    () => false,
  )
  return config.s3 || hasFolder ? () => openFiles(config) : undefined
}

const marks: Record<CheckState, string> = { ok: '✓', warning: '!', failed: '✗' }

function format(checks: CheckResult[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.flatMap(({ name, state, message, advice }) => [
    `${marks[state]} ${name.padEnd(width)}  ${message}`,
    ...(advice ? [`  ${' '.repeat(width)}  → ${advice}`] : []),
  ])
  const count = (wanted: CheckState) => checks.filter(({ state }) => state === wanted).length
  const [broken, warnings] = [count('failed'), count('warning')]
  const summary =
    broken + warnings === 0
      ? 'Everything is fine.'
      : `${broken} ${broken === 1 ? 'problem' : 'problems'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}.`
  return [...lines, '', summary].join('\n')
}
