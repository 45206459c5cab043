import pg from 'pg'
import { type Connection, connectionOptions } from './db.ts'

/** One dedicated connection that receives the Postgres notifications of all channels. */
export type Listener = {
  /** Calls the function of a channel for each notification, and after every reconnect, which may have missed some. */
  subscribe(channels: Record<string, () => void>): Promise<void>
  /** Whether all notifications until about one second ago have been received. */
  isLive(): boolean
  close(): Promise<void>
}

const heartbeatMs = 1_000
const queryTimeoutMs = 1_000
const reconnectAfterMs = 500

type Options = { connection: Connection; log: { warn(details: object, message: string): void } }

/** Never fails: it reconnects until it is closed. */
export async function openListener({ connection, log }: Options): Promise<Listener> {
  const callbacks = new Map<string, () => void>()
  let client: pg.Client | undefined
  let live = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      ...connectionOptions(connection),
      application_name: 'kinora listener',
      connectionTimeoutMillis: 5_000,
      query_timeout: queryTimeoutMs,
    })
    fresh.on('error', () => lose(fresh))
    fresh.on('end', () => lose(fresh))
    fresh.on('notification', ({ channel }) => callbacks.get(channel)?.())
    client = fresh
    await fresh.connect()
    await listen(fresh, callbacks.keys())
    live = true
    timer = setTimeout(beat, heartbeatMs)
  }

  /** Listens, then calls the functions, because notifications before this moment were missed. */
  async function listen(current: pg.Client, channels: Iterable<string>): Promise<void> {
    const names = [...channels]
    if (names.length === 0) return
    await current.query(names.map((name) => `listen ${name}`).join(';'))
    for (const name of names) callbacks.get(name)?.()
  }

  async function beat(): Promise<void> {
    const current = client
    try {
      await current?.query('select 1')
      if (!closed && current === client) timer = setTimeout(beat, heartbeatMs)
    } catch {
      if (current) lose(current)
    }
  }

  function lose(lost: pg.Client): void {
    if (lost !== client) return
    client = undefined
    live = false
    clearTimeout(timer)
    lost.end().catch(() => {})
    if (closed) return
    log.warn({}, 'lost the connection for notifications, reconnecting')
    timer = setTimeout(reconnect, reconnectAfterMs)
  }

  function reconnect(): Promise<unknown> {
    return connect().catch(() => client && lose(client))
  }

  await reconnect()
  return {
    isLive: () => live,
    async subscribe(channels) {
      for (const [name, callback] of Object.entries(channels)) callbacks.set(name, callback)
      const current = client
      // Without a connection, the next reconnect listens to the new channels as well.
      if (current) await listen(current, Object.keys(channels)).catch(() => lose(current))
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
