import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { CheckResult, CheckState, DoctorContext } from '../doctor/check.ts'
import { examine } from '../doctor/doctor.ts'
import { isThisInstallation } from '../doctor/identity.ts'
import { openDb, openPool } from '../lib/db.ts'
import { openFiles } from '../lib/files/open.ts'
import { findRunningPostgres } from '../lib/postgres/open.ts'
import { findRunningService, listeningUrl } from '../lib/running-services.ts'
import { SettingsError } from '../lib/settings.ts'
import { readConfig } from '../read-config.ts'
import type { Tables } from '../tables.ts'
import type { Output } from './command.ts'

type Env = Record<string, string | undefined>

/** A check that hangs may also keep its connection from closing. */
const closeTimeoutMs = 2_000
const lookTimeoutMs = 5_000
const exitCheckMs = 20

export async function runDoctor(output: Output): Promise<void> {
  const { config, problems } = readLeniently(process.env)
  const { dataDir } = config
  const none = { url: undefined, publicUrl: undefined, ignored: undefined }
  const [running, found, files, isHidden] = await Promise.all([
    orAfterLimit(findRunningService(dataDir), none),
    orAfterLimit(openExistingDatabase(config), 'stuck' as const),
    orAfterLimit(findFiles(config), () => openFiles(config)),
    orAfterLimit(isDataHidden(dataDir), true),
  ])
  const database = found === 'stuck' ? undefined : found
  const context: DoctorContext = {
    config,
    env: process.env,
    settingsProblems: problems,
    runningPublicUrl: running.publicUrl,
    db: database?.db,
    isDataHidden: isHidden || found === 'stuck',
    files,
    localUrl: running.url ?? (await findSilentService(config, database?.db)),
    publicUrl:
      running.publicUrl ?? config.publicUrl ?? `${config.tls ? 'https' : 'http'}://localhost:${config.port}`,
    now: () => new Date(),
  }
  const checks = await examine(context)
  const isHealthy = checks.every(({ state }) => state !== 'failed')
  output.print(format(checks), { isHealthy, checks })
  const timeout = new Promise((resolve) => setTimeout(resolve, closeTimeoutMs).unref())
  await Promise.race([database?.close(), timeout])
  process.exitCode = isHealthy ? 0 : 1
  process.stdout.write('', exit)
}

/** Something that hangs, such as a network share, must not keep the command from ending. */
async function exit(): Promise<void> {
  // process.exit() waits for operations on files. Those of a disk that works end soon.
  const isBusy = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))
  for (let waitedMs = 0; isBusy() && waitedMs < closeTimeoutMs; waitedMs += exitCheckMs)
    await delay(exitCheckMs)
  if (isBusy()) process.kill(process.pid, 'SIGKILL')
  process.exit()
}

/** The data folder may be on a disk that hangs. The checks report that, so they have to begin. */
const orAfterLimit = <T, U>(work: Promise<T>, otherwise: U): Promise<T | U> =>
  Promise.race([work, delay(lookTimeoutMs, otherwise, { ref: false })])

/**
 * Wrong settings are reported like everything else. The other checks run with their defaults. Without a setting, others
 * that need it are wrong, too.
 */
function readLeniently(env: Env): { config: Config; problems: string[] } {
  try {
    return { config: readConfig(env), problems: [] }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const { problems } = error
    const wrong = new Set(problems.flatMap((problem) => problem.match(/\bKINORA_\w+/g) ?? []))
    const rest = Object.fromEntries(Object.entries(env).filter(([name]) => !wrong.has(name)))
    if (Object.keys(rest).length === Object.keys(env).length) throw error
    return { config: readLeniently(rest).config, problems }
  }
}

/**
 * Workers announce no URL, and root does not trust the URL in a folder of another user. But a process of this installation
 * may answer at the address in the settings.
 */
async function findSilentService(config: Config, db: DoctorContext['db']): Promise<string | undefined> {
  if (config.port === 0 || !db) return undefined
  const url = listeningUrl(config)
  return (await isThisInstallation(url, db)) ? url : undefined
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

/** The code of the error if this user cannot use the folder. */
const findAccessError = (folder: string): Promise<string | undefined> =>
  access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    ({ code }) => code,
  )

const isDataHidden = async (folder: string) =>
  ['EACCES', 'EPERM'].includes((await findAccessError(folder)) ?? '')

/** Opening a disk store would create its folder. */
async function findFiles(config: Config): Promise<DoctorContext['files']> {
  const error = await findAccessError(join(config.dataDir, 'files'))
  const isMissing = error === 'ENOENT' || error === 'ENOTDIR'
  return config.s3 || !isMissing ? () => openFiles(config) : undefined
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
