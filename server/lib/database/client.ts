import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'
import { type Address, AddressSocket } from './address.ts'
import { readOnlyCode } from './errors.ts'

/** The names of statements that each connection prepares, by their texts. */
export const preparedNames = new Map<string, string>()

/** What a connection needs to know about all servers. `DatabaseServers` implements it. */
export type Servers = {
  /** A pooler gives each transaction another connection, so nothing may depend on the session. */
  readonly isPooled: boolean
  /** Where to connect. */
  find(): Promise<Address>
  /** Rejects if the server does not accept writes. */
  check(client: pg.Client, address: Address): Promise<void>
  /** Ends the connection when another server is the one that accepts writes. */
  add(client: DatabaseClient, address: Address): void
  /** The next connection looks for the server again, because one to this address has failed. */
  forget(address: Address): void
}

type Config = pg.ClientConfig & {
  servers: Servers
  /** Without it, the server is the one that accepts writes. */
  address?: Address
}

type Callback = (error: Error | null, result?: unknown) => void
type NamedQuery = pg.Query & { name?: string }
type Internals = {
  host: string
  port: number
  connection: EventEmitter & { stream: Socket }
  connectionParameters: { host: string; port: number }
}

/** A system that is gone sends nothing, not even that the connection is closed. Node then asks once a second, ten times. */
const keepAliveAfterMs = 10_000

/** A connection to the server that accepts writes. It adds the names of prepared statements, which Kysely does not know. */
export class DatabaseClient extends pg.Client {
  readonly #servers: Servers
  readonly #address: Address | undefined
  readonly #socket: AddressSocket

  constructor({ servers, address, ...config }: Config) {
    const socket = new AddressSocket()
    super({
      ...config,
      stream: () => socket,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
    })
    this.#servers = servers
    this.#address = address
    this.#socket = socket
    // A connection can break at any moment, also while none of its users listens, such as between two statements of a job.
    // Without a listener, that would end the process. The next query fails, which is enough.
    this.on('error', () => {})
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (...result: never[]) => void): Promise<pg.Client> | undefined {
    const connecting = this.#connect()
    if (!callback) return connecting.then(() => this)
    connecting.then(
      () => process.nextTick(callback, ...([null, this] as never[])),
      (error) => process.nextTick(callback, error as never),
    )
  }

  async #connect(): Promise<void> {
    const address = this.#address ?? (await this.#servers.find())
    // The pool destroys the socket when its time limit is over.
    if (this.#socket.destroyed) throw new Error('timeout exceeded when trying to connect')
    const { host, port, ip } = address
    const internals = this as unknown as Internals
    for (const each of [internals, internals.connectionParameters]) Object.assign(each, { host, port })
    this.#socket.ip = ip
    // Before it is connected, because it would wait for a server that is gone as long as connecting may take.
    if (!this.#address) this.#servers.add(this, address)
    try {
      await super.connect()
      await this.#servers.check(this, address)
    } catch (error) {
      if (!this.#address) this.#servers.forget(address)
      this.end().catch(() => {})
      throw error
    }
    // The server has become a replica, or has been made read-only to fence it.
    internals.connection.on('errorMessage', ({ code }) => {
      if (code !== readOnlyCode) return
      this.#servers.forget(address)
      this.abandon()
    })
  }

  /** Ends the connection at once, because its server is no longer the right one. Queries that wait for it fail. */
  abandon(): void {
    const { connection } = this as unknown as Internals
    connection.stream.destroy(new Error('Connection terminated: its server does not accept writes any more'))
  }

  override query(text: unknown, ...rest: unknown[]): never {
    const send = super.query.bind(this) as (...args: unknown[]) => unknown
    const name = typeof text === 'string' && !this.#servers.isPooled ? preparedNames.get(text) : undefined
    if (name === undefined) return send(text, ...rest) as never
    const [values, callback] = rest as [unknown[], Callback | undefined]
    // Set after construction: the driver copies a config object with a name, which takes longer than sending it.
    const query: NamedQuery = new pg.Query(text as string, values)
    query.name = name
    if (callback) return send(query, callback) as never
    return new Promise((resolve, reject) => {
      send(query, (error: Error | null, result: unknown) => (error ? reject(error) : resolve(result)))
    }) as never
  }
}

/** A pooler makes up the process ids of its connections. */
export async function isBehindPooler(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return rows[0].pid !== (client as unknown as { processID: number }).processID
}
