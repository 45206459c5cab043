import { type ChildProcess, spawn } from 'node:child_process'
import { constants, copyFile, open, stat, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { PostgresBinaries } from './binaries.ts'
import { INHERITED_FOLDER, readyCluster } from './cluster.ts'
import { errorCode, errorMessage, fileError, outputError, PostgresError, spawnError } from './errors.ts'
import { findPostgresProcesses, findPostmaster, readPidFile, waitUntilGone } from './process.ts'

export type PostgresLog = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>
export type PostgresConnection = {
  host: string
  port: number
  user: string
  /** Only for a running server of an older version. */
  password?: string | undefined
  database: string
}

export type Site = {
  folder: string
  cluster: string
  binaries: PostgresBinaries
  connection: PostgresConnection
  log: PostgresLog
}

/** A connection and a promise that resolves when it ends. Unlike an event, the promise cannot be missed. */
export type Session = { client: pg.Client; ended: Promise<void> }

export type Answer =
  | { state: 'ready'; session: Session }
  | { state: 'busy'; reason: string }
  | { state: 'silent' }
  /** Killed before it accepted connections. */
  | { state: 'killed'; reason: string }

const CONNECT_LIMIT_MS = 5000
const QUERY_LIMIT_MS = 30_000
const FAST_STOP_LIMIT_MS = 30_000
const ORPHAN_LIMIT_MS = 2000
const LOG_LIMIT_BYTES = 8 * 1024 * 1024
const LOG_TAIL_BYTES = 4096

/** Connects to the server, because a pid file is not reliable. */
export async function ask(connection: PostgresConnection): Promise<Answer> {
  const client = new pg.Client({
    ...connection,
    // Not the database of Kinora, because an operator may drop and restore it.
    database: 'postgres',
    application_name: 'kinora embedded',
    // Ignores PGSSLMODE of the environment.
    ssl: false,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: QUERY_LIMIT_MS,
  })
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  // 'end' follows every 'error', but an 'error' without a listener would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return { state: 'ready', session: { client, ended } }
  } catch (error) {
    await client.end().catch(() => {})
    const code = errorCode(error)
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return { state: 'silent' }
    if (code === 'EACCES' || code === '28P01' || code === '28000') {
      throw new PostgresError(
        'The embedded Postgres rejects the connection of Kinora: the owner of its folder, pg_hba.conf or pg_ident.conf was changed.',
        { cause: error },
      )
    }
    return { state: 'busy', reason: errorMessage(error) }
  }
}

/** Starts the server and waits until it accepts connections. Returns `silent` if the caller should look for a server again. */
export async function startServer(site: Site, signal: AbortSignal): Promise<Answer> {
  const { folder, cluster, log } = site
  const account = await readyCluster(folder, cluster)
  const begun = Date.now()
  const { file, size } = await openLog(folder)
  const command = site.binaries.postgres
  const args = ['-D', INHERITED_FOLDER]
  const stale = await readPidFile(cluster)
  const handle = await open(cluster)
  let child: ChildProcess
  let exit: Promise<string>
  try {
    // Not with pg_ctl, which uses a shell, and which leaves a dead server to an init process that containers may lack.
    child = spawn(command, args, {
      cwd: '/',
      // The server does not start if a process of the same user has the pid of a stale pid file. This variable, which
      // pg_ctl uses for its own parent, exempts a pid. We have checked that it is no server of this cluster.
      env: { ...site.binaries.env, ...(stale && { PG_GRANDPARENT_PID: String(stale.pid) }) },
      ...account.user,
      // Its own session, so that Ctrl-C reaches only Kinora, which then stops the server.
      detached: true,
      stdio: ['ignore', file.fd, file.fd, handle.fd],
    })
    // Before the next await, because the process may exit immediately.
    exit = endOf(child, account.uid)
  } catch (error) {
    throw spawnError(error, account.uid)
  } finally {
    await Promise.all([file.close(), handle.close()])
  }
  child.unref()

  for (let wait = 5; ; wait = Math.min(wait * 1.5, 200)) {
    const pause = delay(wait, undefined, { signal }).catch((error) => giveUp(child, error))
    const ending = await Promise.race([exit, pause])
    if (ending === undefined) {
      const answer = await ask(site.connection)
      if (answer.state !== 'ready') continue
      log.info({ pid: child.pid, tookMs: Date.now() - begun }, 'Postgres started')
      return answer
    }
    const output = await readLog(folder, size)
    // It was stopped, or another server runs.
    if (ending === 'exit code 0' || /lock file ".*" already exists/.test(output)) return { state: 'silent' }
    if (/pre-existing shared memory block .* is still in use/.test(output)) {
      await killOrphanBackends(cluster)
      return { state: 'silent' }
    }
    const cause = new Error(`${ending}: ${[command, ...args].join(' ')}\n${output}`)
    // On a full disk, the server cannot log the reason.
    const { bavail } = await statfs(folder)
    if (bavail === 0) throw fileError(Object.assign(cause, { code: 'ENOSPC' }), folder)
    // Killed by the kernel when memory is low, or by a user. The death of one child process also ends the server.
    const killed = /^ended by .*/.exec(ending) ?? /\(PID \d+\) was terminated by signal.*/.exec(output)
    if (killed) return { state: 'killed', reason: killed[0] }
    throw outputError('Postgres did not start', output, { folder, uid: account.uid, cause })
  }
}

function endOf(child: ChildProcess, uid: number): Promise<string> {
  const end = new Promise<string>((resolve, reject) => {
    child.once('error', (error) => reject(spawnError(error, uid)))
    child.once('exit', (code, by) => resolve(by ? `ended by ${by}` : `exit code ${code}`))
  })
  // Avoids an unhandled rejection; callers that await the promise get the error.
  end.catch(() => {})
  return end
}

async function giveUp(child: ChildProcess, reason: unknown): Promise<never> {
  // A server that replays a long log continues, and the next start finds it. After an abort the server is stopped:
  // it accepts no connections yet, so no process uses it.
  const isTooSlow =
    reason instanceof Error && reason.cause instanceof Error && reason.cause.name === 'TimeoutError'
  if (!isTooSlow && child.pid !== undefined) {
    child.kill('SIGINT')
    if (!(await waitUntilGone(child.pid, FAST_STOP_LIMIT_MS))) child.kill('SIGQUIT')
  }
  throw reason
}

/**
 * When a postmaster is killed, a busy backend continues until its query ends, and prevents a new server from starting.
 * Killing it is safe: it has no client, and it cannot commit.
 */
async function killOrphanBackends(cluster: string): Promise<void> {
  const gone = async (pid: number) => waitUntilGone(pid, ORPHAN_LIMIT_MS)
  const found = await findPostgresProcesses(cluster)
  const ended = await Promise.all(found.map(gone))
  for (const pid of found.filter((_, index) => !ended[index])) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Already gone.
    }
    await gone(pid)
  }
}

/** Ends all sessions, and returns when the server has exited. */
export async function stopServer(site: Site): Promise<void> {
  const pid = await findPostmaster(site.cluster)
  if (pid === undefined) return
  const begun = Date.now()
  signalServer(pid, 'SIGINT')
  if (!(await waitUntilGone(pid, FAST_STOP_LIMIT_MS))) {
    site.log.warn(
      { pid },
      'Postgres does not stop: forcing an immediate shutdown, the next start will replay its log',
    )
    signalServer(pid, 'SIGQUIT')
    await waitUntilGone(pid, FAST_STOP_LIMIT_MS)
  }
  site.log.info({ pid, tookMs: Date.now() - begun }, 'Postgres stopped')
}

export function signalServer(pid: number, signal: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

async function openLog(folder: string) {
  try {
    await shortenLog(folder)
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
    const file = await open(join(folder, 'server.log'), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    if (process.geteuid!() === 0) {
      // The owner of the folder must be able to open the file without root.
      const { uid, gid } = await stat(folder)
      await file.chown(uid, gid)
    }
    return { file, size: (await file.stat()).size }
  } catch (error) {
    throw fileError(error, folder)
  }
}

/** Safe while the server runs, because the server opens the file in append mode. */
export async function shortenLog(folder: string): Promise<void> {
  const path = join(folder, 'server.log')
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  if (size < LOG_LIMIT_BYTES) return
  // The copy may fail, because a full disk is the most likely cause of a long log.
  await copyFile(path, `${path}.old`).catch(() => {})
  await truncate(path)
}

async function readLog(folder: string, from: number): Promise<string> {
  const file = await open(join(folder, 'server.log'), 'r')
  try {
    const { size } = await file.stat()
    const start = Math.max(from, size - LOG_TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - start)), {
      position: start,
    })
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
