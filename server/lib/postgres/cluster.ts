import { randomUUID } from 'node:crypto'
import { chmod, lchown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RunError, run } from '../run.ts'
import { chooseAccount, type PostgresAccount } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { accessRules, configuration, userMap } from './configuration.ts'
import { withLock } from './lock.ts'
import { errorCode, fileProblem, outputProblem, PostgresProblem, spawnProblem } from './problem.ts'
import { findPostgresProcesses, readPidFile } from './process.ts'

export const USER = 'kinora'
export const DATABASE = 'kinora'

/** Of clusters that were made before the kernel vouched for who connects. */
const OLD_PASSWORD_FILE = 'kinora.password'
const UNFINISHED = 'cluster.new.'
const INITDB_LIMIT_MS = 300_000
/** The kernel may end it when memory is short. */
const INITDB_ATTEMPTS = 3

/**
 * How the folder of the cluster is named to Postgres, which inherits it as its first open file: the folders above may be
 * closed to the user that Postgres runs as.
 */
export const INHERITED_FOLDER = '/proc/self/fd/3'

export const clusterOf = (folder: string) => join(folder, 'cluster')

export async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(dirname(folder), { recursive: true })
    await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
      if (errorCode(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
      const { uid, mode } = await stat(folder)
      if (uid === process.geteuid!() && mode & 0o077) await chmod(folder, 0o700)
    })
    await syncFolder(dirname(folder))
  } catch (error) {
    throw fileProblem(error, folder)
  }
}

/** Creates the cluster if there is none. The password is that of a server which an older Kinora has left running. */
export async function ensureCluster(
  folder: string,
  binaries: PostgresBinaries,
  signal: AbortSignal,
): Promise<{ cluster: string; password: string | undefined; created: boolean }> {
  const cluster = clusterOf(folder)
  let created = false
  if (await isAbsent(cluster)) {
    await withLock(folder, signal, async () => {
      if (!(await isAbsent(cluster))) return
      await createCluster(folder, cluster, binaries, signal)
      created = true
    })
  }
  await checkVersion(folder, cluster, binaries.majorVersion)
  const password = await readFile(join(cluster, OLD_PASSWORD_FILE), 'utf8').catch(() => undefined)
  return { cluster, password, created }
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
  try {
    for (let attempt = 1; ; attempt++) {
      await mkdir(unfinished, { mode: 0o700 })
      await lchown(unfinished, account.uid, account.gid)
      if (await initdb(folder, unfinished, binaries, account, signal, attempt < INITDB_ATTEMPTS)) break
      await rm(unfinished, { recursive: true, force: true, maxRetries: 3 })
    }
    await syncFolder(unfinished)
    await rename(unfinished, cluster)
    await syncFolder(folder)
  } catch (error) {
    await removeUnfinished(folder)
    throw fileProblem(error, folder)
  }
}

/** False when it was killed and may be run again. */
async function initdb(
  folder: string,
  unfinished: string,
  binaries: PostgresBinaries,
  account: PostgresAccount,
  signal: AbortSignal,
  mayBeRepeated: boolean,
): Promise<boolean> {
  await using handle = await open(unfinished)
  const args = [
    `--pgdata=${INHERITED_FOLDER}`,
    `--username=${USER}`,
    '--auth=peer',
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
    const options = { cwd: '/', env: binaries.env, signal: limit, user: account.user }
    await run(binaries.initdb, args, { ...options, descriptors: [handle.fd] })
    return true
  } catch (cause) {
    signal.throwIfAborted()
    if (!(cause instanceof RunError)) throw spawnProblem(cause, account.uid)
    if (cause.cause && cause.exitCode === null && cause.signal === null)
      throw spawnProblem(cause.cause, account.uid)
    const wasKilled = cause.cause === undefined && (cause.signal || /terminated by signal/.test(cause.stderr))
    if (wasKilled && mayBeRepeated) return false
    throw outputProblem('Postgres could not create its files', cause.stderr, {
      folder,
      uid: account.uid,
      cause,
    })
  }
}

async function checkVersion(folder: string, cluster: string, majorVersion: string): Promise<void> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error) => {
    if (errorCode(error) !== 'ENOENT') throw fileProblem(error, folder)
    throw new PostgresProblem(
      `The folder ${cluster} is not a database of Postgres: move it away, or choose another with KINORA_DATA_DIR.`,
    )
  })
  if (version.trim() === majorVersion) return
  throw new PostgresProblem(
    `The database in ${folder} was made by Postgres ${version.trim()} and this Kinora brings Postgres ${majorVersion}: ` +
      'dump it with the Kinora that made it, and load the dump into a new folder.',
  )
}

/** What has to be right each time before the server starts. Under the lock. */
export async function readyCluster(folder: string, cluster: string): Promise<PostgresAccount> {
  try {
    const account = await chooseAccount(folder, cluster)
    const { uid, mode } = await stat(cluster)
    // Copied back from a backup, a cluster may belong to root, or be open to others: Postgres takes neither. Those of
    // an older Kinora that ran as root belong to nobody.
    if (uid !== account.uid) await giveTo(cluster, account)
    if (mode & 0o077) await chmod(cluster, 0o700)
    await removeUnfinished(folder)
    await removeEmptyLockFiles(cluster)
    await replace(join(cluster, 'postgresql.conf'), configuration(), account)
    await replace(join(cluster, 'pg_hba.conf'), accessRules(), account)
    await replace(join(cluster, 'pg_ident.conf'), userMap(account.clients), account)
    await rm(join(cluster, OLD_PASSWORD_FILE), { force: true })
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

/**
 * Root's alone until all of it is given: its former owner must not put links in the way, and a start that is cut off here
 * is repeated by the next.
 */
async function giveTo(cluster: string, account: PostgresAccount): Promise<void> {
  if (account.user) await lchown(cluster, 0, 0)
  await chmod(cluster, 0o700)
  for (const entry of await readdir(cluster, { recursive: true })) {
    await lchown(join(cluster, entry), account.uid, account.gid)
  }
  await lchown(cluster, account.uid, account.gid)
}

/** Never through an existing name: the folder may belong to a user whom root must not write for elsewhere. */
async function replace(path: string, text: string, account: PostgresAccount): Promise<void> {
  const fresh = `${path}.new`
  await rm(fresh, { force: true })
  {
    await using file = await open(fresh, 'wx', 0o600)
    await file.writeFile(text)
    if (account.user) await file.chown(account.uid, account.gid)
    await file.sync()
  }
  await rename(fresh, path)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch((error) => {
    // A folder above ours may be one that we can only pass through.
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  })
  await folder?.sync().finally(() => folder.close())
}
