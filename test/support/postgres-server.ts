import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { chooseAccount, type PostgresAccount } from '../../server/lib/postgres/account.ts'
import { findPackage, type PostgresBinaries, prepareBinaries } from '../../server/lib/postgres/binaries.ts'
import { clusterOf, ensureCluster, USER } from '../../server/lib/postgres/cluster.ts'
import { copyCluster } from '../../server/lib/postgres/copy-cluster.ts'
import { findPostgresProcesses } from '../../server/lib/postgres/process.ts'
import { provideName } from '../../server/lib/postgres/user-name.ts'

export type PostgresPlace = {
  host: string
  port: number
  /** Precedes the command of the server: `['ip', 'netns', 'exec', 'a']` starts it in that network namespace. */
  prefix?: string[]
}

const configuration = ({ host, port }: PostgresPlace) => `
listen_addresses = '${host}'
port = ${port}
unix_socket_directories = '.'
max_connections = 200
huge_pages = off
jit = off
timezone = 'UTC'
# The processes are killed, but not the machine, whose memory keeps what they have written.
fsync = off
# The replica may be away for a while.
wal_keep_size = 512MB
# A replica notices soon that its primary is gone, and the other way round.
wal_receiver_timeout = 5s
wal_sender_timeout = 5s
wal_retrieve_retry_interval = 200ms
`

const accessRules = `
local all,replication all trust
host all,replication all all trust
`

/** A Postgres server with the programs of the embedded one. It listens on TCP, and admits everybody. */
export class PostgresServer {
  readonly name: string
  readonly place: PostgresPlace
  readonly #folder: string
  readonly #cluster: string
  #account!: PostgresAccount
  #binaries!: PostgresBinaries
  #child: ChildProcess | undefined

  /** Other users must be able to enter the folder, because root runs Postgres as another user. */
  constructor(name: string, folder: string, place: PostgresPlace) {
    this.name = name
    this.place = place
    this.#folder = folder
    this.#cluster = clusterOf(folder)
  }

  async prepare(): Promise<void> {
    await mkdir(this.#folder, { mode: 0o755 })
    this.#account = await chooseAccount(this.#folder, this.#cluster)
    this.#binaries = await prepareBinaries(findPackage(), this.#folder, this.#account.user)
    const name = await provideName(this.#account.uid, this.#folder)
    this.#binaries.env = { ...this.#binaries.env, ...name }
  }

  async create(): Promise<void> {
    await ensureCluster(this.#folder, this.#binaries, new AbortController().signal)
    await this.#configure()
  }

  /** Replaces its files by a copy of those of the primary, which it then follows. */
  async copyFrom(primary: PostgresServer): Promise<void> {
    await rm(this.#cluster, { recursive: true, force: true })
    await this.#own(mkdir(this.#cluster, { mode: 0o700 }), this.#cluster)
    const client = await primary.#connect()
    await copyCluster({
      client,
      cluster: primary.#cluster,
      target: this.#cluster,
      owner: this.#account,
      signal: new AbortController().signal,
      onCopied() {},
    })
    await client.end()
    const { host, port } = primary.place
    const source = `host=${host} port=${port} user=${USER} application_name=${this.name} connect_timeout=2`
    await this.#write('postgresql.auto.conf', `primary_conninfo = '${source}'\n`)
    await this.#write('standby.signal', '')
    await this.#configure()
  }

  async #configure(): Promise<void> {
    await this.#write('postgresql.conf', configuration(this.place))
    await this.#write('pg_hba.conf', accessRules)
  }

  #write(name: string, text: string): Promise<void> {
    const path = join(this.#cluster, name)
    return this.#own(writeFile(path, text, { mode: 0o600 }), path)
  }

  async #own(written: Promise<unknown>, path: string): Promise<void> {
    await written
    await chown(path, this.#account.uid, this.#account.gid)
  }

  /** Returns when the server accepts connections. */
  async start(): Promise<void> {
    const { uid, gid, user } = this.#account
    // Not an option of spawn, because the prefix may need root.
    const asUser = user ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : []
    const command = [
      ...(this.place.prefix ?? []),
      ...asUser,
      this.#binaries.postgres,
      ...['-D', this.#cluster],
    ]
    await using log = await open(join(this.#folder, 'server.log'), 'a')
    this.#child = spawn(command[0]!, command.slice(1), {
      cwd: '/',
      env: this.#binaries.env,
      stdio: ['ignore', log.fd, log.fd],
    })
    const child = this.#child
    await once(child, 'spawn')
    while (!(await this.#accepts())) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`Postgres ended:\n${await readFile(join(this.#folder, 'server.log'), 'utf8')}`)
      await delay(20)
    }
  }

  #accepts(): Promise<boolean> {
    return this.query('select').then(
      () => true,
      () => false,
    )
  }

  /** Over the unix socket, which works in every network namespace. */
  async #connect(database = 'postgres'): Promise<pg.Client> {
    const client = new pg.Client({ host: this.#cluster, port: this.place.port, user: USER, database })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of every shape
  async query(sql: string, database?: string): Promise<any[]> {
    const client = await this.#connect(database)
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  /** A fast shutdown, as of a restart. */
  stop = () => this.#end('SIGINT')

  /** kill -9 of all its processes, as if the machine had lost power. */
  kill = () => this.#end('SIGKILL')

  /** Its connections stay open, and nothing answers any more, as if the machine had lost its network. */
  pause = () => this.#signal('SIGSTOP')

  resume = async () => {
    await this.#signal('SIGCONT')
    // A prefix such as nsenter stops together with its child, but does not continue with it.
    this.#child?.kill('SIGCONT')
  }

  async #end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    if (signal === 'SIGINT') this.#child?.kill(signal)
    while ((await findPostgresProcesses(this.#cluster)).length > 0) {
      if (signal === 'SIGKILL') await this.#signal(signal)
      await delay(10)
    }
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await findPostgresProcesses(this.#cluster)) {
      try {
        process.kill(pid, signal)
      } catch {
        // It has just ended.
      }
    }
  }
}
