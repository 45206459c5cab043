import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DATABASE, USER } from '../../server/lib/postgres/cluster.ts'
import { type PostgresPlace, PostgresServer } from './postgres-server.ts'

type Options = {
  /** Other users must be able to enter it, because root runs Postgres as another user. */
  folder: string
  /** The addresses of the first primary and of its replica, as both of them and the service reach them. */
  places: [PostgresPlace, PostgresPlace]
  /** Whether a commit waits until the replica has stored it. As with Patroni, it does not while there is no replica. */
  isSynchronous?: boolean
}

/**
 * Two Postgres servers with an empty database, of which one replicates the other. This class is the tool that manages
 * them, such as Patroni: it decides which one is the primary.
 */
export class PostgresPair {
  primary: PostgresServer
  replica: PostgresServer
  readonly #isSynchronous: boolean

  constructor({ folder, places, isSynchronous = false }: Options) {
    this.primary = new PostgresServer('a', join(folder, 'a'), places[0])
    this.replica = new PostgresServer('b', join(folder, 'b'), places[1])
    this.#isSynchronous = isSynchronous
  }

  /** The value for KINORA_DATABASE_URL. The order of the hosts does not change. */
  get url(): string {
    const servers = [this.primary, this.replica].sort((one, two) => (one.name < two.name ? -1 : 1))
    const hosts = servers.map(({ place }) => `${place.host}:${place.port}`)
    return `postgres://${USER}@${hosts}/${DATABASE}?target_session_attrs=read-write`
  }

  async start(): Promise<void> {
    await this.primary.prepare()
    await this.replica.prepare()
    await this.primary.create()
    await this.primary.start()
    await this.primary.query(`create database ${DATABASE}`)
    await this.#follow()
  }

  /** Makes the replica the primary. The old primary must have been killed, or must not be reachable: nothing else fences it. */
  async promote(): Promise<void> {
    ;[this.primary, this.replica] = [this.replica, this.primary]
    await this.primary.query('select pg_promote()')
  }

  /** Kills the server that is no longer the primary, and starts it again as a replica of the new one. */
  async rebuild(): Promise<void> {
    await this.replica.kill()
    await this.#follow()
  }

  async #follow(): Promise<void> {
    await this.replica.copyFrom(this.primary)
    await this.replica.start()
    if (this.#isSynchronous) {
      await this.primary.query(`alter system set synchronous_standby_names = '${this.replica.name}'`)
      await this.primary.query('select pg_reload_conf()')
    }
    const state = this.#isSynchronous ? `sync_state = 'sync'` : `state = 'streaming'`
    const isFollowing = `select from pg_stat_replication where ${state}`
    while ((await this.primary.query(isFollowing)).length === 0) await delay(20)
  }

  async kill(): Promise<void> {
    await Promise.all([this.primary.kill(), this.replica.kill()])
  }
}

/** Free ports of this machine for two servers. */
export async function localPlaces(): Promise<[PostgresPlace, PostgresPlace]> {
  const [one, two] = [await freePort(), await freePort()]
  return one === two
    ? localPlaces()
    : ([one, two].map((port) => ({ host: '127.0.0.1', port })) as [PostgresPlace, PostgresPlace])
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}
