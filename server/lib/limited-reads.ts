import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { shareConnections } from './database/connections.ts'
import { ApiError, httpErrors } from './errors.ts'
import { FairSlots } from './fair-slots.ts'

export type ReadLimits = {
  /** How many reads run at once. The pool needs as many connections. */
  maxRunning: number
  /** How many more wait for one of them to end. */
  maxWaiting: number
  /** How long a read waits, and how long all its statements together may take after that. */
  waitMs: number
  runMs: number
}

export const readLimits: ReadLimits = {
  maxRunning: shareConnections().lists,
  maxWaiting: 100,
  waitMs: 10_000,
  runMs: 10_000,
}

type Reader = {
  /** Whose read it is. Subjects share the slots evenly. */
  subject: string
  /** Aborts when nobody waits for the result any more. */
  signal: AbortSignal
}

/** Statements that each connection of the pool executes first. */
const sessionSettings = (runMs: number) => `
  set default_transaction_read_only = on;
  set statement_timeout = ${runMs};
  set jit = off`

const pids = new WeakMap<pg.ClientBase, number>()

/** Prepares a new connection of the pool for reads. */
export async function prepareForReads(client: pg.ClientBase, { runMs } = readLimits): Promise<void> {
  // Compiling a statement would take longer than running most of them. The timeout ends statements whose process died.
  await client.query(sessionSettings(runMs))
  // Not the id of the driver, because a connection pooler like PgBouncer makes up its own.
  const { rows } = await client.query('select pg_backend_pid() as pid')
  pids.set(client, rows[0].pid)
}

/**
 * The same for one transaction, because a pooler would use the settings of a session for other clients as well. Until the
 * end of the transaction, the server process serves no other client. Returns its id.
 */
async function beginRead(client: pg.ClientBase, { runMs }: ReadLimits): Promise<number> {
  await client.query(`begin read only; set local statement_timeout = ${runMs}; set local jit = off`)
  return (await client.query('select pg_backend_pid() as pid')).rows[0].pid
}

type Options = {
  /** Ends the server process of a connection. */
  terminate: (pid: number) => Promise<unknown>
  limits?: ReadLimits
  isPooled?: boolean
}

/**
 * Runs queries over many rows, such as lists and aggregates, on connections of their own: a few at once, and none for
 * longer than its client waits or the limit allows. So they cannot take the connections that viewers need.
 */
export class LimitedReads<T> {
  readonly #pool: pg.Pool
  readonly #terminate: (pid: number) => Promise<unknown>
  readonly #limits: ReadLimits
  readonly #isPooled: boolean
  readonly #slots: FairSlots

  constructor(pool: pg.Pool, { terminate, limits = readLimits, isPooled = false }: Options) {
    this.#pool = pool
    this.#terminate = terminate
    this.#limits = limits
    this.#isPooled = isPooled
    this.#slots = new FairSlots(limits)
  }

  async run<R>({ subject, signal }: Reader, work: (db: Kysely<T>) => Promise<R>): Promise<R> {
    const isTaken = await this.#slots.take(subject, this.#limits.waitMs, signal)
    if (!isTaken) throw signal.aborted ? clientGone() : tooMany()
    try {
      return await this.#runNow(signal, work)
    } finally {
      this.#slots.release(subject)
    }
  }

  async #runNow<R>(signal: AbortSignal, work: (db: Kysely<T>) => Promise<R>): Promise<R> {
    const client = await this.#pool.connect()
    const pid = this.#isPooled ? await this.#begin(client) : pids.get(client)!
    let ending: ApiError | undefined
    let terminated: Promise<unknown> | undefined
    // Not pg_cancel_backend, which has no effect if it arrives just before the statement.
    const end = (reason: ApiError) => {
      ending ??= reason
      // If this fails, the timeout of the connection ends the statement.
      terminated ??= this.#terminate(pid).catch(() => {})
    }
    const leave = () => end(clientGone())
    const timer = setTimeout(() => end(takesTooLong()), this.#limits.runMs)
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    try {
      return await work(dbOf<T>(client, () => ending))
    } catch (error) {
      throw ending ?? (isTimeout(error) ? takesTooLong(error) : error)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      if (this.#isPooled) {
        await terminated
        if (!ending) await client.query('rollback').catch(() => {})
      }
      client.release(ending !== undefined)
    }
  }

  async #begin(client: pg.PoolClient): Promise<number> {
    try {
      return await beginRead(client, this.#limits)
    } catch (error) {
      client.release(true)
      throw error
    }
  }
}

/** All statements use this connection, and none starts after the end of the read. */
function dbOf<T>(client: pg.ClientBase, ending: () => ApiError | undefined): Kysely<T> {
  const connection = {
    async query(text: string, values: unknown[]) {
      const reason = ending()
      if (reason) throw reason
      return client.query(text, values)
    },
    release() {},
  }
  const pool = { connect: async () => connection, end: async () => {} }
  return new Kysely<T>({ dialect: new PostgresDialect({ pool: pool as never }) })
}

/** Postgres error code of a statement that exceeded its timeout. */
const isTimeout = (error: unknown) => error instanceof Error && 'code' in error && error.code === '57014'

const unavailable = (title: string, retryAfterSeconds: number, cause?: unknown) =>
  new ApiError(httpErrors.serviceUnavailable, {
    title,
    cause,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })

const tooMany = () =>
  unavailable('Too many lists and analytics are being read. Try again in a few seconds.', 5)

const takesTooLong = (cause?: unknown) =>
  unavailable(
    'The query takes too long. Use more filters, an earlier page, a shorter period or a single video.',
    30,
    cause,
  )

/** Nobody receives it; its status keeps the request out of the log of errors. */
const clientGone = () => new ApiError(httpErrors.badRequest, { title: 'The client closed the connection.' })
