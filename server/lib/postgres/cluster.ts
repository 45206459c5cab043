import { randomUUID } from 'node:crypto'
import { chmod, lchown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolders } from '../make-folders.ts'
import { RunError, run } from '../run.ts'
import type { SystemUser } from '../system-user.ts'
import { chooseAccount, type PostgresAccount } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { accessRules, configuration, userMap } from './configuration.ts'
import { errorCode, fileError, outputError, PostgresError, spawnError } from './errors.ts'
import { withLock } from './lock.ts'
import { findPostgresProcesses, readPidFile } from './process.ts'

export const USER = 'kinora'
export const DATABASE = 'kinora'

/** Clusters of older versions used a password instead of peer authentication. */
const OLD_PASSWORD_FILE = 'kinora.password'
/** The version of Kinora that used the cluster last. */
const VERSION_FILE = 'kinora-version'
const UNFINISHED = 'cluster.new.'
const INITDB_LIMIT_MS = 300_000
/** The kernel may kill initdb when memory is low. */
const INITDB_ATTEMPTS = 3

/**
 * Postgres inherits the folder of the cluster as an open file descriptor, because its user may have no access to the
 * parent folders.
 */
export const INHERITED_FOLDER = '/proc/self/fd/3'

export const clusterOf = (folder: string) => join(folder, 'cluster')

export async function ensureFolder(folder: string): Promise<void> {
  try {
    await makeFolders(dirname(folder))
    await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
      if (errorCode(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
      const { uid, mode } = await stat(folder)
      if (uid === process.geteuid!() && mode & 0o077) await chmod(folder, 0o700)
    })
    await syncFolder(dirname(folder))
  } catch (error) {
    throw fileError(error, folder)
  }
}

/** Creates the cluster if it does not exist. The password is for a running server of an older version. */
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
  // An empty folder counts as absent, because a rename can replace it.
  const names = await readdir(cluster).catch((error) => {
    if (errorCode(error) === 'ENOENT') return []
    throw fileError(error, cluster)
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
      const mayRetry = attempt < INITDB_ATTEMPTS
      if (await initdb({ folder, unfinished, binaries, account, signal, mayRetry })) break
      await rm(unfinished, { recursive: true, force: true, maxRetries: 3 })
    }
    await syncFolder(unfinished)
    await rename(unfinished, cluster)
    await syncFolder(folder)
  } catch (error) {
    await removeUnfinished(folder)
    throw fileError(error, folder)
  }
}

/** Returns false if initdb was killed and may run again. */
async function initdb({
  folder,
  unfinished,
  binaries,
  account,
  signal,
  mayRetry,
}: {
  folder: string
  unfinished: string
  binaries: PostgresBinaries
  account: PostgresAccount
  signal: AbortSignal
  mayRetry: boolean
}): Promise<boolean> {
  await using handle = await open(unfinished)
  const args = [
    `--pgdata=${INHERITED_FOLDER}`,
    `--username=${USER}`,
    '--auth=peer',
    '--encoding=UTF8',
    // The built-in locale: an update of the C library or ICU would change the sort order, and break indexes.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--set=huge_pages=off',
    '--no-instructions',
  ]
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(INITDB_LIMIT_MS)])
    // The account may have no access to the current folder.
    const options = { cwd: '/', env: binaries.env, signal: limit, user: account.user }
    await run(binaries.initdb, args, { ...options, descriptors: [handle.fd] })
    return true
  } catch (cause) {
    signal.throwIfAborted()
    if (!(cause instanceof RunError)) throw spawnError(cause, account.uid)
    if (cause.cause && cause.exitCode === null && cause.signal === null)
      throw spawnError(cause.cause, account.uid)
    const wasKilled = cause.cause === undefined && (cause.signal || /terminated by signal/.test(cause.stderr))
    if (wasKilled && mayRetry) return false
    throw outputError('Postgres could not create its files', cause.stderr, {
      folder,
      uid: account.uid,
      cause,
    })
  }
}

async function checkVersion(folder: string, cluster: string, majorVersion: string): Promise<void> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error) => {
    if (errorCode(error) !== 'ENOENT') throw fileError(error, folder)
    throw new PostgresError(
      `The folder ${cluster} is not a database of Postgres: move it, or choose another folder with KINORA_DATA_DIR.`,
    )
  })
  if (version.trim() === majorVersion) return
  const user = await readFile(join(folder, VERSION_FILE), 'utf8').catch(() => '')
  throw new PostgresError(
    `The database in ${folder} was created by Postgres ${version.trim()}, but this version of Kinora includes Postgres ${majorVersion}: ` +
      `run "kinora backup" with ${user ? `Kinora ${user.trim()}` : 'the version of Kinora that you used before'}, ` +
      'and "kinora restore" with this version in a new data folder. See docs/upgrades.md.',
  )
}

/** Records the version for the message to a version with another Postgres, which cannot read the database. */
export async function recordVersion(folder: string, version: string): Promise<void> {
  const path = join(folder, VERSION_FILE)
  const text = `${version}\n`
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return
  const { uid, gid } = await stat(folder)
  await replace(path, text, { uid, gid })
}

/** Prepares the files of the cluster before each start of the server. The caller holds the lock. */
export async function readyCluster(folder: string, cluster: string): Promise<PostgresAccount> {
  try {
    const account = await chooseAccount(folder, cluster)
    const { uid, mode } = await stat(cluster)
    // Postgres rejects a cluster of another owner or with open permissions, which a restored backup may have. Clusters
    // of older versions that ran as root belong to the user nobody.
    if (uid !== account.uid) await changeOwner(cluster, account)
    if (mode & 0o077) await chmod(cluster, 0o700)
    await removeUnfinished(folder)
    await removeEmptyLockFiles(cluster)
    await replace(join(cluster, 'postgresql.conf'), configuration(), account)
    await replace(join(cluster, 'pg_hba.conf'), accessRules(), account)
    await replace(join(cluster, 'pg_ident.conf'), userMap(account.clients), account)
    await rm(join(cluster, OLD_PASSWORD_FILE), { force: true })
    return account
  } catch (error) {
    throw fileError(error, folder)
  }
}

/** Postgres handles the lock files of dead servers, but fails on empty ones, which a power failure may leave. */
async function removeEmptyLockFiles(cluster: string): Promise<void> {
  if ((await readPidFile(cluster)) || (await findPostgresProcesses(cluster)).length > 0) return
  await rm(join(cluster, 'postmaster.pid'), { force: true })
  await rm(join(cluster, '.s.PGSQL.5432.lock'), { force: true })
}

/** Removes folders of processes that were killed during creation. An initdb that still runs in one fails. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(UNFINISHED)) continue
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {
      // The next start tries again.
    })
  }
}

/**
 * Changes the owner of the cluster. The folder belongs to root until all files are changed, so that the former owner
 * cannot insert links, and so that the next start repeats an interrupted change.
 */
async function changeOwner(cluster: string, account: PostgresAccount): Promise<void> {
  if (account.user) await lchown(cluster, 0, 0)
  await chmod(cluster, 0o700)
  for (const entry of await readdir(cluster, { recursive: true })) {
    await lchown(join(cluster, entry), account.uid, account.gid)
  }
  await lchown(cluster, account.uid, account.gid)
}

/** Writes a new file and renames it. Writing to an existing name could follow a link that the owner of the folder made. */
async function replace(path: string, text: string, owner: SystemUser): Promise<void> {
  const fresh = `${path}.new`
  await rm(fresh, { force: true })
  {
    await using file = await open(fresh, 'wx', 0o600)
    await file.writeFile(text)
    await file.chown(owner.uid, owner.gid)
    await file.sync()
  }
  await rename(fresh, path)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch((error) => {
    // A parent folder may be accessible but not readable.
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  })
  await folder?.sync().finally(() => folder.close())
}
