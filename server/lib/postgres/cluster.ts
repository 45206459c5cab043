import { randomBytes, randomUUID } from 'node:crypto'
import { chmod, lchown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RunError, run } from '../run.ts'
import { chooseAccount, type PostgresAccount } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { configuration } from './configuration.ts'
import { withLock } from './lock.ts'
import { errorCode, fileProblem, outputProblem, PostgresProblem } from './problem.ts'
import { findPostgresProcesses, readPidFile } from './process.ts'

export const USER = 'kinora'
export const DATABASE = 'kinora'

/** Beside Postgres' own files, so that one rename brings the cluster and its password into being together. */
const PASSWORD_FILE = 'kinora.password'
const UNFINISHED = 'cluster.new.'
const INITDB_LIMIT_MS = 300_000

export async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(dirname(folder), { recursive: true })
    // A root's server runs as somebody else, who must get through to the cluster, which is closed to all others.
    await mkdir(folder, { mode: process.geteuid!() === 0 ? 0o711 : 0o700 }).catch(async (error) => {
      if (errorCode(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
    })
    await syncFolder(dirname(folder))
  } catch (error) {
    throw fileProblem(error, folder)
  }
}

/** Creates the cluster if there is none, and gives the password of its superuser. */
export async function ensureCluster(
  folder: string,
  binaries: PostgresBinaries,
  signal: AbortSignal,
): Promise<{ cluster: string; password: string; created: boolean }> {
  const cluster = join(folder, 'cluster')
  // Also tells whether the folder is ours to use, so it comes before anything that would fail less clearly.
  await chooseAccount(folder, cluster)
  let created = false
  if (await isAbsent(cluster)) {
    await withLock(folder, signal, async () => {
      if (!(await isAbsent(cluster))) return
      await createCluster(folder, cluster, binaries, signal)
      created = true
    })
  }
  return { cluster, password: await readPassword(folder, cluster, binaries.majorVersion), created }
}

async function isAbsent(cluster: string): Promise<boolean> {
  // Empty counts as absent, because a rename may take an empty folder's place.
  const names = await readdir(cluster).catch((error) => {
    if (errorCode(error) === 'ENOENT') return []
    throw fileProblem(error, cluster)
  })
  return names.length === 0
}

async function createCluster(
  folder: string,
  cluster: string,
  binaries: PostgresBinaries,
  signal: AbortSignal,
): Promise<void> {
  const account = await chooseAccount(folder, cluster)
  const unfinished = join(folder, `${UNFINISHED}${randomUUID()}`)
  const passwordFile = `${unfinished}.password`
  try {
    await mkdir(unfinished, { mode: 0o700 })
    await lchown(unfinished, account.uid, account.gid)
    await writeNew(passwordFile, randomBytes(24).toString('base64url'), account)
    await initdb(folder, unfinished, passwordFile, binaries, account, signal)
    await rename(passwordFile, join(unfinished, PASSWORD_FILE))
    await syncFolder(unfinished)
    await rename(unfinished, cluster)
    await syncFolder(folder)
  } catch (error) {
    await removeUnfinished(folder)
    throw fileProblem(error, folder)
  }
}

async function initdb(
  folder: string,
  unfinished: string,
  passwordFile: string,
  binaries: PostgresBinaries,
  account: PostgresAccount,
  signal: AbortSignal,
): Promise<void> {
  const [command = '', ...args] = [
    ...account.prefix,
    binaries.initdb,
    `--pgdata=${unfinished}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Built into Postgres: an update of the host's C library or ICU cannot change an order that indexes rely on.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--set=huge_pages=off',
    '--no-instructions',
  ]
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(INITDB_LIMIT_MS)])
    // In the root folder, because the account may not be allowed into the one we happen to be in.
    await run(command, args, { cwd: '/', env: binaries.env, signal: limit })
  } catch (cause) {
    signal.throwIfAborted()
    const output = cause instanceof RunError ? cause.stderr : ''
    throw outputProblem('Postgres could not create its files', output, { folder, uid: account.uid, cause })
  }
}

async function readPassword(folder: string, cluster: string, majorVersion: string): Promise<string> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error) => {
    if (errorCode(error) !== 'ENOENT') throw fileProblem(error, folder)
    throw new PostgresProblem(
      `The folder ${cluster} is not a database of Postgres: move it away, or choose another with KINORA_DATA_DIR.`,
    )
  })
  if (version.trim() !== majorVersion) {
    throw new PostgresProblem(
      `The database in ${folder} was made by Postgres ${version.trim()} and this Kinora brings Postgres ${majorVersion}: ` +
        'dump it with the Kinora that made it, and load the dump into a new folder.',
    )
  }
  return await readFile(join(cluster, PASSWORD_FILE), 'utf8').catch((cause) => {
    throw new PostgresProblem(
      `The password of the database cannot be read from ${join(cluster, PASSWORD_FILE)}: restore that file.`,
      { cause },
    )
  })
}

/** What has to be right each time before the server starts. Under the lock. */
export async function readyCluster(folder: string, cluster: string): Promise<PostgresAccount> {
  try {
    const account = await chooseAccount(folder, cluster)
    const { uid, mode } = await stat(cluster)
    // Copied back from a backup, a cluster may belong to root, or be open to others: Postgres takes neither.
    if (uid !== account.uid) await giveTo(cluster, account)
    if (mode & 0o077) await chmod(cluster, 0o700)
    await removeUnfinished(folder)
    await removeEmptyLockFiles(cluster)
    const conf = join(cluster, 'postgresql.conf')
    await rm(`${conf}.new`, { force: true })
    await writeNew(`${conf}.new`, configuration(), account)
    await rename(`${conf}.new`, conf)
    return account
  } catch (error) {
    throw fileProblem(error, folder)
  }
}

/** Postgres handles lock files of servers that are gone, but gives up on the empty ones a power cut may leave. */
async function removeEmptyLockFiles(cluster: string): Promise<void> {
  if ((await readPidFile(cluster)) || (await findPostgresProcesses(cluster)).length > 0) return
  await rm(join(cluster, 'postmaster.pid'), { force: true })
  await rm(join(cluster, '.s.PGSQL.5432.lock'), { force: true })
}

/** Left by a process that was killed while it created the cluster. Its initdb may still be at it, and will fail. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(UNFINISHED)) continue
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {
      // Not worth failing for: the next start tries again.
    })
  }
}

async function giveTo(path: string, account: PostgresAccount): Promise<void> {
  await lchown(path, account.uid, account.gid)
  for (const entry of await readdir(path, { recursive: true })) {
    await lchown(join(path, entry), account.uid, account.gid)
  }
}

/** Never through an existing name: the folder may belong to a user whom root must not write for elsewhere. */
async function writeNew(path: string, text: string, account: PostgresAccount): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    if (account.prefix.length > 0) await file.chown(account.uid, account.gid)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch((error) => {
    // A folder above ours may be one that we can only pass through.
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  })
  await folder?.sync().finally(() => folder.close())
}
