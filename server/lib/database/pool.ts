import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { codeOf } from './errors.ts'

/** SQLSTATE of a connection that exceeds max_connections or the limit of the user or the database. */
const tooManyCode = '53300'
const firstPauseMs = 50
const maxPauseMs = 500

type Callback = Parameters<pg.Pool['connect']>[0]

/** While the server accepts no more connections, it waits for one of its own, or of another process, as for a free one. */
export class DatabasePool extends pg.Pool {
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
    const deadline = Date.now() + (this.options.connectionTimeoutMillis ?? 0)
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await super.connect()
      } catch (error) {
        if (codeOf(error) !== tooManyCode || this.ending) throw error
        if (Date.now() + pauseMs > deadline) throw error
      }
      await delay(pauseMs)
    }
  }
}
