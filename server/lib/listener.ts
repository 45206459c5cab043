import pg from 'pg'
import { type Connection, connectionOptions } from './db.ts'

/** A dedicated connection that hears the notifications of one channel for as long as it is open. */
export type Listener = {
  /** Whether every notification sent up to about a second ago has been heard. */
  isLive(): boolean
  close(): Promise<void>
}

const heartbeatMs = 1_000
const answerWithinMs = 1_000
const reconnectAfterMs = 500

export async function openListener(options: {
  connection: Connection
  channel: string
  onNotification: () => void
  log: { warn(details: object, message: string): void }
}): Promise<Listener> {
  let client: pg.Client | undefined
  let live = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      ...connectionOptions(options.connection),
      application_name: 'kinora listener',
      connectionTimeoutMillis: 5_000,
      query_timeout: answerWithinMs,
    })
    fresh.on('error', () => lose(fresh))
    fresh.on('end', () => lose(fresh))
    fresh.on('notification', options.onNotification)
    client = fresh
    await fresh.connect()
    await fresh.query(`listen ${options.channel}`)
    live = true
    // What was notified while nobody listened is unknown.
    options.onNotification()
    timer = setTimeout(beat, heartbeatMs)
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
    options.log.warn(
      { channel: options.channel },
      'lost the connection that hears notifications, connecting again',
    )
    timer = setTimeout(retry, reconnectAfterMs)
  }

  function retry(): void {
    connect().catch(() => client && lose(client))
  }

  await connect().catch(() => client && lose(client))
  return {
    isLive: () => live,
    async close() {
      closed = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
