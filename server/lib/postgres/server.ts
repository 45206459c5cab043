import { type ChildProcess, spawn } from 'node:child_process'
import { constants, copyFile, open, stat, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { PostgresBinaries } from './binaries.ts'
import { INHERITED_FOLDER, readyCluster } from './cluster.ts'
import {
  errorCode,
  errorMessage,
  fileProblem,
  outputProblem,
  PostgresProblem,
  spawnProblem,
} from './problem.ts'
import { findPostgresProcesses, findPostmaster, readPidFile, waitUntilGone } from './process.ts'

export type PostgresLog = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>
export type PostgresConnection = {
  host: string
  port: number
  user: string
  /** Only of a server that an older Kinora has left running. */
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

/** A connection, and the promise that it has ended, which cannot be missed as an event can. */
export type Session = { client: pg.Client; ended: Promise<void> }

export type Answer =
  | { state: 'ready'; session: Session }
  | { state: 'busy'; reason: string }
  | { state: 'silent' }
  /** Ended from outside before it took connections. */
  | { state: 'killed'; reason: string }

const CONNECT_LIMIT_MS = 5000
const QUERY_LIMIT_MS = 30_000
const FAST_STOP_LIMIT_MS = 30_000
const STRAGGLER_LIMIT_MS = 2000
const LOG_LIMIT_BYTES = 8 * 1024 * 1024
const LOG_TAIL_BYTES = 4096

/** Asks the server itself, because only it knows: a pid file tells nothing for sure. */
export async function ask(connection: PostgresConnection): Promise<Answer> {
  const client = new pg.Client({
    ...connection,
    // Not the database of the service, which somebody may want to drop and restore.
    database: 'postgres',
    application_name: 'kinora embedded',
    // The environment's PGSSLMODE is for other servers.
    ssl: false,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: QUERY_LIMIT_MS,
  })
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  // The end is told by 'end' too; an 'error' without a listener would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return { state: 'ready', session: { client, ended } }
  } catch (error) {
    await client.end().catch(() => {})
    const code = errorCode(error)
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return { state: 'silent' }
    if (code === 'EACCES' || code === '28P01' || code === '28000') {
      throw new PostgresProblem(
        'The embedded Postgres does not let Kinora in: the owner of its folder, pg_hba.conf or pg_ident.conf was changed.',
        { cause: error },
      )
    }
    return { state: 'busy', reason: errorMessage(error) }
  }
}

/** Starts the server and waits until it takes connections. Silent when it ended for a reason worth another look. */
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
    // Not by pg_ctl, which goes through a shell, and leaves a server that dies to an init that a container may lack.
    child = spawn(command, args, {
      cwd: '/',
      // The server refuses to start while a process of the same user has the pid in a left-over pid file, but
      // for this one, which pg_ctl uses to name its own parent. We know that it is no server of this cluster.
      env: { ...site.binaries.env, ...(stale && { PG_GRANDPARENT_PID: String(stale.pid) }) },
      ...account.user,
      // A session of its own: Ctrl-C is for us, who then stop it in order.
      detached: true,
      stdio: ['ignore', file.fd, file.fd, handle.fd],
    })
    // At once: one that is killed right away may end before the next await does.
    exit = endOf(child, account.uid)
  } catch (error) {
    throw spawnProblem(error, account.uid)
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
    // Somebody stopped it, or it found another server: both are seen by looking again.
    if (ending === 'exit code 0' || /lock file ".*" already exists/.test(output)) return { state: 'silent' }
    if (/pre-existing shared memory block .* is still in use/.test(output)) {
      await endStragglers(cluster)
      return { state: 'silent' }
    }
    const cause = new Error(`${ending}: ${[command, ...args].join(' ')}\n${output}`)
    // A server on a full disk cannot write why it ends.
    const { bavail } = await statfs(folder)
    if (bavail === 0) throw fileProblem(Object.assign(cause, { code: 'ENOSPC' }), folder)
    // By the kernel when memory is short, or by somebody's hand; also one of its processes, which ends them all.
    const killed = /^ended by .*/.exec(ending) ?? /\(PID \d+\) was terminated by signal.*/.exec(output)
    if (killed) return { state: 'killed', reason: killed[0] }
    throw outputProblem('Postgres did not start', output, { folder, uid: account.uid, cause })
  }
}

function endOf(child: ChildProcess, uid: number): Promise<string> {
  const end = new Promise<string>((resolve, reject) => {
    child.once('error', (error) => reject(spawnProblem(error, uid)))
    child.once('exit', (code, by) => resolve(by ? `ended by ${by}` : `exit code ${code}`))
  })
  // Whoever awaits it hears of it.
  end.catch(() => {})
  return end
}

async function giveUp(child: ChildProcess, reason: unknown): Promise<never> {
  // One that replays a long log is left at it, and found by who comes next. One that we no longer want is ended:
  // it does not take connections yet, so nobody uses it.
  const isTooSlow =
    reason instanceof Error && reason.cause instanceof Error && reason.cause.name === 'TimeoutError'
  if (!isTooSlow && child.pid !== undefined) {
    child.kill('SIGINT')
    if (!(await waitUntilGone(child.pid, FAST_STOP_LIMIT_MS))) child.kill('SIGQUIT')
  }
  throw reason
}

/**
 * A backend that is busy when its postmaster is killed goes on until its query ends, and keeps a new server from
 * starting. Nobody waits for its answer any more, and nothing it does now can be committed.
 */
async function endStragglers(cluster: string): Promise<void> {
  const gone = async (pid: number) => waitUntilGone(pid, STRAGGLER_LIMIT_MS)
  const found = await findPostgresProcesses(cluster)
  const ended = await Promise.all(found.map(gone))
  for (const pid of found.filter((_, index) => !ended[index])) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Gone meanwhile.
    }
    await gone(pid)
  }
}

/** Returns when the server has exited; its sessions are ended. */
export async function stopServer(site: Site): Promise<void> {
  const pid = await findPostmaster(site.cluster)
  if (pid === undefined) return
  const begun = Date.now()
  signalServer(pid, 'SIGINT')
  if (!(await waitUntilGone(pid, FAST_STOP_LIMIT_MS))) {
    site.log.warn({ pid }, 'Postgres does not stop: ending it at once, the next start will replay its log')
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
      // So that the user to whom the folder belongs can open it again without root.
      const { uid, gid } = await stat(folder)
      await file.chown(uid, gid)
    }
    return { file, size: (await file.stat()).size }
  } catch (error) {
    throw fileProblem(error, folder)
  }
}

/** The server appends, so the file may be cut under its hands. */
export async function shortenLog(folder: string): Promise<void> {
  const path = join(folder, 'server.log')
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  if (size < LOG_LIMIT_BYTES) return
  // Without the copy if need be: a full disk is the likeliest reason for a long log.
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
