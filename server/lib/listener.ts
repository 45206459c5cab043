import type pg from 'pg'
import { DatabaseClient, isBehindPooler } from './database/client.ts'
import { type Connection, type DatabaseServers, serversOf } from './database/servers.ts'

const heartbeatMs = 1_000
const queryTimeoutMs = 1_000
const reconnectAfterMs = 500

type Log = { warn(details: object, message: string): void }

/** Without a payload: earlier notifications may have been missed. */
type Callback = (payload?: string) => void

/** One dedicated connection that receives the Postgres notifications of all channels. It reconnects until it is closed. */
export class Listener {
  readonly #servers: DatabaseServers
  readonly #name: string
  readonly #log: Log
  readonly #callbacks = new Map<string, Callback[]>()
  #client: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isLive = false
  #isClosed = false

  /** The name is what Postgres shows for the connection. */
  constructor(connection: Connection, name: string, log: Log) {
    this.#servers = serversOf(connection)
    this.#name = name
    this.#log = log
  }

  /** Returns after the first attempt to connect, whether it succeeds or not. */
  async open(): Promise<void> {
    await this.#connect().catch(() => this.#client && this.#lose(this.#client))
  }

  /** Calls the functions of a channel for each notification, and after every reconnect, which may have missed some. */
  async subscribe(channels: Record<string, Callback>): Promise<void> {
    for (const [name, callback] of Object.entries(channels))
      this.#callbacks.set(name, [...(this.#callbacks.get(name) ?? []), callback])
    const client = this.#client
    // Without a connection, the next reconnect listens to the new channels as well.
    if (client) await this.#listen(client, Object.keys(channels)).catch(() => this.#lose(client))
  }

  /**
   * Whether all notifications until about one second ago have been received. Never behind a pooler, because in transaction
   * mode it accepts `listen` and passes no notifications on.
   */
  isLive = (): boolean => this.#isLive

  close = async (): Promise<void> => {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = new DatabaseClient({
      ...this.#servers.options,
      application_name: this.#name,
      query_timeout: queryTimeoutMs,
    })
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    client.on('notification', ({ channel, payload = '' }) => this.#call(channel, payload))
    this.#client = client
    await client.connect()
    const isPooled = await isBehindPooler(client)
    await this.#listen(client, [...this.#callbacks.keys()])
    this.#isLive = !isPooled
    this.#timer = setTimeout(() => this.#beat(client), heartbeatMs)
  }

  /** Calls the functions of the channels once, because earlier notifications were missed. */
  async #listen(client: pg.Client, channels: string[]): Promise<void> {
    if (channels.length === 0) return
    await client.query(channels.map((name) => `listen ${name}`).join(';'))
    for (const name of channels) this.#call(name)
  }

  #call(channel: string, payload?: string): void {
    for (const callback of this.#callbacks.get(channel) ?? []) callback(payload)
  }

  async #beat(client: pg.Client): Promise<void> {
    try {
      await client.query('select 1')
      // Another server may accept writes by now, and notify of them.
      await this.#servers.check(client)
    } catch {
      return this.#lose(client)
    }
    if (!this.#isClosed && client === this.#client)
      this.#timer = setTimeout(() => this.#beat(client), heartbeatMs)
  }

  #lose(client: pg.Client): void {
    if (client !== this.#client) return
    this.#client = undefined
    this.#isLive = false
    clearTimeout(this.#timer)
    client.end().catch(() => {})
    if (this.#isClosed) return
    // This connection is the first that notices that the server does not respond.
    this.#servers.forget()
    this.#log.warn({}, 'lost the connection for notifications, reconnecting')
    this.#timer = setTimeout(() => this.open(), reconnectAfterMs)
  }
}
