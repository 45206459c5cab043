import { constants, type FileHandle, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { chooseAccount, isShared, POSTGRES_USER } from './account.ts'
import { findPackage, prepareBinaries } from './binaries.ts'
import { clusterOf, DATABASE, ensureCluster, ensureFolder, USER } from './cluster.ts'
import { errorCode, errorMessage, fileError, PostgresError } from './errors.ts'
import { withLock } from './lock.ts'
import { findPostmaster, readPidFile } from './process.ts'
import {
  ask,
  type PostgresConnection,
  type PostgresLog,
  type Session,
  type Site,
  shortenLog,
  signalServer,
  startServer,
  stopServer,
} from './server.ts'
import { provideName } from './user-name.ts'

export { PostgresError } from './errors.ts'
export type { PostgresConnection } from './server.ts'

export type EmbeddedPostgres = { connection: PostgresConnection; close(): Promise<void> }

const PORT = 5432
const SOCKET_PATH_LIMIT_BYTES = 107
/** Advisory lock: shared for every process that uses the server, exclusive for the one that stops it. */
const USE_LOCK = 5_466_721
/** Replaying a long log after a crash takes minutes. */
const READY_LIMIT_MS = 300_000
const PROGRESS_MS = 5000
const WATCH_MS = 2000
const RETRY_LIMIT_MS = 10_000
const MAX_KILLS = 6
const KILL_PAUSE_MS = 100

/**
 * Opens a Postgres server in a folder. All processes that open the same folder share one server: the first process
 * starts it, the last one stops it, and any of them restarts it after a crash.
 */
export async function openEmbeddedPostgres(options: {
  folder: string
  log: PostgresLog
}): Promise<EmbeddedPostgres> {
  const folder = resolve(options.folder)
  const root = findPackage()
  await ensureFolder(folder)
  // First, because it checks the owner of the folder, and later steps would fail with less clear errors.
  const account = await chooseAccount(folder, clusterOf(folder))
  if (isShared(account)) {
    options.log.warn(
      { folder },
      `Postgres runs as the user nobody, because no user ${POSTGRES_USER} could be created: ` +
        'other programs that run as nobody could change the database',
    )
  }
  const name = await provideName(account.uid, folder).catch((error) => {
    throw fileError(error, folder)
  })
  const binaries = await prepareBinaries(root, folder, account.user)
  binaries.env = { ...binaries.env, ...name }
  const begun = Date.now()
  const { cluster, password, created } = await ensureCluster(folder, binaries, new AbortController().signal)
  if (created) options.log.info({ folder, tookMs: Date.now() - begun }, 'Postgres cluster created')
  const { host, handle } = await socketFolder(folder, cluster)
  const connection = { host, port: PORT, user: USER, password, database: DATABASE }
  const server = new EmbeddedServer({ folder, cluster, binaries, connection, log: options.log }, handle)
  await server.open()
  return server
}

/** A server that another process has started. Undefined if none runs. It is neither created, started nor kept running. */
export async function findRunningPostgres(folder: string): Promise<EmbeddedPostgres | undefined> {
  const cluster = clusterOf(resolve(folder))
  if ((await findPostmaster(cluster)) === undefined) return undefined
  const { host, handle } = await socketFolder(folder, cluster)
  return {
    connection: { host, port: PORT, user: USER, password: undefined, database: DATABASE },
    close: async () => handle?.close(),
  }
}

class EmbeddedServer implements EmbeddedPostgres {
  readonly connection: PostgresConnection
  readonly #site: Site
  readonly #handle: FileHandle | undefined
  readonly #closing = new AbortController()
  #session: Session | undefined
  #recovery: Promise<void> | undefined
  #watch: NodeJS.Timeout | undefined
  #closed: Promise<void> | undefined

  constructor(site: Site, handle: FileHandle | undefined) {
    this.connection = site.connection
    this.#site = site
    this.#handle = handle
  }

  async open(): Promise<void> {
    try {
      this.#adopt(await attach(this.#site, this.#closing.signal))
    } catch (error) {
      await this.close().catch(() => {})
      throw error
    }
    let stoppedPid: number | undefined
    const check = async () => {
      await shortenLog(this.#site.folder)
      // After SIGTERM, the server rejects new sessions and waits for the end of all sessions. Our session would not
      // end, so we request a fast shutdown and restart the server.
      const file = await readPidFile(this.#site.cluster)
      if (file?.status !== 'stopping' || file.pid === stoppedPid || !this.#session) return
      stoppedPid = await findPostmaster(this.#site.cluster)
      if (stoppedPid === undefined || this.#closing.signal.aborted) return
      this.#site.log.warn({ pid: stoppedPid }, 'another program stopped Postgres: restarting it')
      signalServer(stoppedPid, 'SIGINT')
    }
    this.#watch = setInterval(() => {
      check().catch((error) =>
        this.#site.log.warn({ error: errorMessage(error) }, 'the check of Postgres failed'),
      )
    }, WATCH_MS).unref()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearInterval(this.#watch)
    this.#closing.abort()
    await this.#recovery
    try {
      await leave(this.#site, this.#session)
    } finally {
      await this.#handle?.close()
    }
  }

  #adopt(session: Session): void {
    this.#session = session
    session.ended.then(() => {
      this.#session = undefined
      if (this.#closing.signal.aborted) return
      this.#site.log.warn({ folder: this.#site.folder }, 'Postgres connection lost: recovering')
      this.#recovery = this.#recover()
    })
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing
    const begun = Date.now()
    for (let wait = 100; !signal.aborted; wait = Math.min(wait * 2, RETRY_LIMIT_MS)) {
      try {
        this.#adopt(await attach(this.#site, signal))
        this.#site.log.info({ tookMs: Date.now() - begun }, 'Postgres is available again')
        return
      } catch (error) {
        if (signal.aborted) return
        this.#site.log.error(
          { err: error, retryMs: wait },
          `Postgres could not be restarted: ${errorMessage(error)}`,
        )
      }
      await delay(wait, undefined, { signal }).catch(() => {})
    }
  }
}

/** Returns a short path of the folder, because the system limits the length of socket paths: /proc/…/fd/N if needed. */
async function socketFolder(folder: string, cluster: string): Promise<{ host: string; handle?: FileHandle }> {
  if (Buffer.byteLength(join(cluster, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_LIMIT_BYTES)
    return { host: cluster }
  try {
    const handle = await open(cluster, constants.O_RDONLY | constants.O_DIRECTORY)
    return { host: `/proc/${process.pid}/fd/${handle.fd}`, handle }
  } catch (error) {
    throw fileError(error, folder)
  }
}

/** Finds or starts the server, and takes the shared lock on it. */
async function attach(site: Site, closing: AbortSignal): Promise<Session> {
  const limit = AbortSignal.timeout(READY_LIMIT_MS)
  const signal = AbortSignal.any([closing, limit])
  let reason = 'it is starting'
  let kills = 0
  const progress = setInterval(() => site.log.info({ reason }, 'waiting for Postgres'), PROGRESS_MS)
  try {
    for (;;) {
      const answer = await reach(site, signal)
      if (answer.state === 'busy') reason = answer.reason
      if (answer.state === 'killed') await waitAfterKill(site, answer.reason, ++kills, signal)
      if (answer.state === 'ready' && (await holdServer(site, answer.session))) return answer.session
      await delay(25, undefined, { signal })
    }
  } catch (error) {
    if (!limit.aborted || closing.aborted) throw error
    throw new PostgresError(
      `Postgres in ${site.folder} was not ready within ${READY_LIMIT_MS / 60_000} minutes (${reason}): ` +
        'see server.log in that folder, and start again.',
      { cause: error },
    )
  } finally {
    clearInterval(progress)
  }
}

/** Backs off, and gives up after several kills, because the cause may persist. */
async function waitAfterKill(site: Site, reason: string, kills: number, signal: AbortSignal): Promise<void> {
  if (kills >= MAX_KILLS) {
    throw new PostgresError(
      `Postgres in ${site.folder} was killed ${kills} times while it was starting (${reason}): ` +
        'check whether this machine is low on memory, and which program kills its processes.',
    )
  }
  site.log.warn({ reason, kills }, 'Postgres was killed while it was starting: starting it again')
  await delay(KILL_PAUSE_MS * 2 ** (kills - 1), undefined, { signal })
}

type Reached = Awaited<ReturnType<typeof ask>>

async function reach(site: Site, signal: AbortSignal): Promise<Reached> {
  const answer = await ask(site.connection)
  if (answer.state !== 'silent' || (await findPostmaster(site.cluster))) return answer
  return await withLock(site.folder, signal, async () => {
    const again = await ask(site.connection)
    if (again.state !== 'silent' || (await findPostmaster(site.cluster))) return again
    return await startServer(site, signal)
  })
}

/** Returns false if the server stopped meanwhile, for example because its last user closed it. */
async function holdServer(site: Site, { client, ended }: Session): Promise<boolean> {
  let isGone = false
  ended.then(() => {
    isGone = true
  })
  try {
    await client.query('SELECT pg_advisory_lock_shared($1)', [USE_LOCK])
    await ensureDatabase(client)
    return !isGone
  } catch (error) {
    await client.end().catch(() => {})
    const code = errorCode(error)
    if (code === '53100')
      throw fileError(Object.assign(new Error('', { cause: error }), { code: 'ENOSPC' }), site.folder)
    if (code === undefined || /^(08|57|E)/.test(code)) return false
    throw new PostgresError(`Postgres in ${site.folder} does not work: ${errorMessage(error)}.`, {
      cause: error,
    })
  }
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE])
  if (found.rowCount) return
  await client.query(`CREATE DATABASE ${DATABASE}`).catch((error) => {
    // Another process created it at the same time.
    if (!['42P04', '23505'].includes(errorCode(error) ?? '')) throw error
  })
}

/** Stops the server if no other process uses it. */
async function leave(site: Site, held: Session | undefined): Promise<void> {
  let session = held
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      session ??= await find()
      if (!session) return
      const { client } = session
      await client.query('SELECT pg_advisory_unlock_all()')
      const { rows } = await client.query<{ last: boolean }>('SELECT pg_try_advisory_lock($1) AS last', [
        USE_LOCK,
      ])
      // A new process that waits for the lock loses its connection, and starts the server again.
      if (rows[0]?.last) await stopServer(site)
      return
    } catch (error) {
      site.log.warn({ error: errorMessage(error) }, 'Postgres could not be closed cleanly')
    } finally {
      await session?.client.end().catch(() => {})
      session = undefined
    }
  }

  async function find(): Promise<Session | undefined> {
    const answer = await ask(site.connection)
    return answer.state === 'ready' ? answer.session : undefined
  }
}
