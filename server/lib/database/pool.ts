import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { codeOf, messageOf } from './errors.ts'
import type { DatabaseServers } from './servers.ts'

/** SQLSTATE of a connection that exceeds max_connections or the limit of the user or the database. */
const tooManyCode = '53300'
const firstPauseMs = 50
const maxPauseMs = 500

type Callback = Parameters<pg.Pool['connect']>[0]

/** While the server accepts no more connections, it tries again for as long as it waits for a connection of its own. */
export class DatabasePool extends pg.Pool {
  readonly #servers: DatabaseServers

  constructor(servers: DatabaseServers, options: pg.PoolConfig) {
    super({ ...servers.options, ...options })
    this.#servers = servers
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connecting = this.#connect()
    if (!callback) return connecting
    connecting.then(
      (client) => callback(undefined, client, client.release),
      (error) => callback(error, undefined, () => {}),
    )
  }

  async #connect(): Promise<pg.PoolClient> {
    const { connectTimeoutMs } = this.#servers
    const deadline = Date.now() + connectTimeoutMs
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await super.connect()
      } catch (error) {
        if (codeOf(error) !== tooManyCode) throw error
        if (this.ending || Date.now() + pauseMs > deadline) throw this.#tooMany(error)
      }
      await delay(pauseMs)
    }
  }

  #tooMany(cause: unknown): Error {
    const text =
      `Postgres accepts no more connections (${messageOf(cause)}), and this process opens up to ` +
      `${this.#servers.maxConnections}: raise max_connections, or lower KINORA_DATABASE_CONNECTIONS`
    return Object.assign(new Error(text, { cause }), { code: tooManyCode })
  }
}
