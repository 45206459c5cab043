import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { type Address, addressOf, nameOf, resolveAddress } from './address.ts'
import { DatabaseClient, type Servers } from './client.ts'
import { defaultConnections } from './connections.ts'
import { codeOf, isConnectTimeout, isUnreachable, messageOf, readOnlyCode, saysToWait } from './errors.ts'
import { firstOf } from './first-of.ts'
import { parseDatabaseUrl } from './url.ts'

export type Place =
  | string
  | { host: string; port: number; user: string; password?: string | undefined; database: string }

/** Connections that share the object also share what it knows. */
export type Connection = Place | DatabaseServers

type Options = { isPooled?: boolean; maxConnections?: number | undefined }

/** After this time, a search asks servers again that were replicas. */
const searchAgainAfterMs = 500
/** Requests that arrive meanwhile get the error of the search that has failed. */
const pauseMs = 100

/**
 * The servers of one database, of which one accepts writes. All connections of the process share this object. It finds that
 * server when it is not known, remembers it, and ends the connections to the others.
 */
export class DatabaseServers implements Servers {
  readonly connectTimeoutMs: number
  /** Known from the settings, or found at the start. */
  isPooled: boolean
  /** Of this process. */
  readonly maxConnections: number
  readonly #config: pg.ClientConfig
  readonly #addresses: Address[]
  readonly #mustWrite: boolean
  readonly #clients = new Map<DatabaseClient, string>()
  readonly #attempts = new Map<string, Promise<Address>>()
  #search: Promise<Address> | undefined
  #current: Address | undefined
  /** The name of the server that was found last. */
  #last: string | undefined

  constructor(place: Place, { isPooled = false, maxConnections = defaultConnections }: Options = {}) {
    this.isPooled = isPooled
    this.maxConnections = maxConnections
    const { hosts, mustWrite, connectTimeoutMs } = parseDatabaseUrl(typeof place === 'string' ? place : '')
    // The driver wants to know a host before the server is chosen.
    this.#config = typeof place === 'string' ? { connectionString: hosts[0]! } : place
    this.#addresses = typeof place === 'string' ? hosts.map(addressOf) : [place]
    this.#mustWrite = mustWrite
    this.connectTimeoutMs = connectTimeoutMs
  }

  /** The settings of `DatabaseClient`, and of pools that create such clients. */
  get options() {
    return {
      ...this.#config,
      Client: DatabaseClient as unknown as new () => pg.ClientBase,
      servers: this,
      connectionTimeoutMillis: this.connectTimeoutMs,
    }
  }

  async find(): Promise<Address> {
    if (!this.#mustWrite && this.#addresses.length === 1) return this.#addresses[0]!
    if (this.#current) return this.#current
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  /** Without an address, the server is in doubt. */
  forget(address?: Address): void {
    if (!address || address === this.#current) this.#current = undefined
  }

  /** The server may have become a replica, or read-only, since it was found. */
  async check(client: pg.Client, address?: Address): Promise<void> {
    if (!this.#mustWrite) return
    const { rows } = await client.query('show transaction_read_only')
    if (rows[0].transaction_read_only === 'off') return
    const name = address ? nameOf(address) : 'the server'
    throw Object.assign(new Error(`${name} does not accept writes`), { code: readOnlyCode })
  }

  add(client: DatabaseClient, address: Address): void {
    const name = nameOf(address)
    this.#clients.set(client, name)
    client.once('end', () => this.#clients.delete(client))
    if (this.#last !== undefined && this.#last !== name) client.abandon()
  }

  async #find(): Promise<Address> {
    const deadline = Date.now() + this.connectTimeoutMs
    for (;;) {
      const found = this.#tryAll()
      // A server that does not respond must not keep us from finding a replica that is promoted meanwhile.
      const pause = Date.now() < deadline ? delay(searchAgainAfterMs, undefined, { ref: false }) : found
      const address = await Promise.race([found, pause]).catch(async (error) => {
        await delay(pauseMs)
        throw this.#explain(error)
      })
      if (address) return this.#use(address)
    }
  }

  #use(address: Address): Address {
    this.#current = address
    this.#last = nameOf(address)
    for (const [client, name] of this.#clients) if (name !== this.#last) client.abandon()
    return address
  }

  #tryAll(): Promise<Address> {
    // The last one first, because it is still right after a short interruption.
    const isLast = ({ host, port }: Address) => this.#last?.startsWith(`${host}:${port}`) === true
    const sorted = this.#addresses.toSorted((one, two) => Number(isLast(two)) - Number(isLast(one)))
    const found = firstOf(sorted, async (address) => {
      const all = await resolveAddress(address).catch((error) => {
        throw failed(address, error)
      })
      return firstOf(all, (each) => this.#try(each))
    })
    // It may fail when nobody waits for it any more.
    found.catch(() => {})
    return found
  }

  /** Connects and disconnects. An attempt that still runs is not repeated. */
  #try(address: Address): Promise<Address> {
    const name = nameOf(address)
    const running = this.#attempts.get(name)
    if (running) return running
    const attempt = this.#connect(address).finally(() => this.#attempts.delete(name))
    this.#attempts.set(name, attempt)
    return attempt
  }

  async #connect(address: Address): Promise<Address> {
    const client = new DatabaseClient({
      ...this.options,
      address,
      application_name: 'kinora',
      query_timeout: this.connectTimeoutMs,
    })
    try {
      await client.connect()
      return address
    } catch (error) {
      throw failed(address, error)
    } finally {
      client.end().catch(() => {})
    }
  }

  /** One error for all servers. Its code is that of a server that may be used later, if there is one. */
  #explain(error: unknown): Error {
    const errors = flatten(error)
    const causes = errors.map(({ cause }) => cause)
    const cause =
      causes.find(saysToWait) ??
      causes.find((each) => isUnreachable(each) || isConnectTimeout(each)) ??
      causes[0]
    const what = this.#mustWrite ? 'no server accepts writes' : 'no server accepts connections'
    const message = `${what} (${errors.map(messageOf).join(', ')})`
    return Object.assign(new Error(message, { cause }), { code: codeOf(cause) || 'ETIMEDOUT' })
  }
}

export const serversOf = (connection: Connection) =>
  connection instanceof DatabaseServers ? connection : new DatabaseServers(connection)

const failed = (address: Address, cause: unknown) =>
  new Error(`${nameOf(address)}: ${messageOf(cause)}`, { cause })

const flatten = (error: unknown): Error[] =>
  error instanceof AggregateError ? error.errors.flatMap(flatten) : [error as Error]
