import { sql } from 'kysely'
import { parseDatabaseUrl } from '../lib/database/url.ts'
import type { Db } from '../lib/db.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { Tables } from '../tables.ts'
import { type Check, type Finding, ok, warning, withoutDatabase } from './check.ts'

const ifStuck = 'The database does not respond: check its load and the network.'

type Replica = {
  name: string
  /** Null if the user of the database may not see it. */
  state: string | null
  isSynchronous: boolean
  bytesBehind: number | null
}

export type Replication = {
  /** Null on a unix socket. */
  primary: string | null
  /** Whether commits wait for a replica. */
  isSynchronous: boolean
  replicas: Replica[]
}

async function readReplication(db: Db<Tables>): Promise<Replication> {
  const { rows } = await sql<Omit<Replication, 'replicas'>>`
    select host(inet_server_addr()) || ':' || inet_server_port() as primary,
      current_setting('synchronous_standby_names') <> '' as "isSynchronous"`.execute(db)
  const { rows: replicas } = await sql<Replica>`
    select application_name as name, state, coalesce(sync_state in ('sync', 'quorum'), false) as "isSynchronous",
      pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 as "bytesBehind"
    from pg_stat_replication where state is distinct from 'backup' order by application_name`.execute(db)
  return { ...rows[0]!, replicas }
}

export const replicationCheck: Check = {
  name: 'database replication',
  ifStuck,
  async run(context) {
    const { db, config } = context
    // The embedded Postgres has no replica.
    if (!config.databaseUrl) return []
    if (!db) return withoutDatabase(context)
    const found = await readReplication(db).catch(() => undefined)
    if (!found) return ok('Not examined: the database cannot be used.')
    return judgeReplication(found, parseDatabaseUrl(config.databaseUrl).hosts.length > 1)
  },
}

const maxBytesBehind = 64 * 1024 ** 2

export function judgeReplication(
  { primary, isSynchronous, replicas }: Replication,
  expectsReplica: boolean,
): Finding {
  const server = primary === null ? 'The primary' : `The primary ${primary}`
  const text = `${server} has ${replicas.map(describe).join(', ') || 'no replica'}`
  const isVisible = replicas.every(({ state }) => state !== null)
  if (isSynchronous && isVisible && !replicas.some((each) => each.isSynchronous))
    return warning(
      `${text}, and synchronous_standby_names makes every write wait for one.`,
      'Start the replica, or remove it from synchronous_standby_names.',
    )
  if (replicas.length === 0 && expectsReplica)
    return warning(`${text}.`, 'Start the replica: without one, a failure of the primary ends the service.')
  const slow = replicas.find(({ bytesBehind }) => (bytesBehind ?? 0) > maxBytesBehind)
  if (slow)
    return warning(
      `${text}.`,
      `Check the disk of the replica ${slow.name} and the network to it: a failover to it would lose what it lacks.`,
    )
  return ok(`${text}.`)
}

function describe({ name, state, isSynchronous, bytesBehind }: Replica): string {
  // Only members of pg_monitor see more.
  if (state === null || bytesBehind === null) return `the replica ${name}`
  const kind = isSynchronous ? 'synchronous' : 'asynchronous'
  return `the ${kind} replica ${name} (${state}, ${formatBytes(bytesBehind)} behind)`
}
