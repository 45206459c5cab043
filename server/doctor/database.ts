import { sql } from 'kysely'
import { DatabaseError } from '../lib/database/errors.ts'
import { checkServer, type Db } from '../lib/db.ts'
import { measureClockOffset } from '../processes/clock.ts'
import { listProcesses } from '../processes/store.ts'
import type { Tables } from '../tables.ts'
import { type Check, type Finding, failed, firstLine, ok, warning, withoutDatabase } from './check.ts'

const ifStuck = 'The database does not respond: check its load and the network between it and this machine.'

/** What to do about the errors of a connection, by their codes. */
const advices: Record<string, string> = {
  ECONNREFUSED: 'Start Postgres, or correct the host and port in KINORA_DATABASE_URL.',
  ENOTFOUND: 'Correct the host name in KINORA_DATABASE_URL, or its DNS record.',
  EAI_AGAIN: 'Correct the host name in KINORA_DATABASE_URL, or check the DNS server of this machine.',
  ETIMEDOUT: 'Check the firewall between this machine and the database.',
  '28P01': 'Correct the password in KINORA_DATABASE_URL.',
  '28000': 'Allow this user and host in pg_hba.conf, or correct KINORA_DATABASE_URL.',
  '3D000': 'Create the database that KINORA_DATABASE_URL names.',
  '53300':
    'Raise max_connections of Postgres, lower KINORA_DATABASE_CONNECTIONS, or stop what uses its connections.',
  '57P03': 'Postgres is starting or stopping: wait, and run this again.',
}

const codeOf = (error: unknown): string => {
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return (inner as { code?: string } | undefined)?.code ?? ''
}

function explainDatabaseError(error: unknown, isEmbedded: boolean): Finding {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (isEmbedded)
    return failed(
      `The embedded Postgres cannot be used: ${firstLine(cause)}.`,
      'Run this command as the user who runs Kinora. Otherwise see postgres/server.log in the data folder.',
    )
  const advice = advices[codeOf(cause)] ?? advices[codeOf(error)]
  return failed(
    `The database cannot be used: ${firstLine(cause)}.`,
    advice ?? 'Check KINORA_DATABASE_URL and the log of Postgres.',
  )
}

type Facts = {
  version: string
  canCreate: boolean
  hasTrigrams: boolean
  isReadOnly: boolean
  maxConnections: number
  reserved: number
  userLimit: number
  databaseLimit: number
}

async function readFacts(db: Db<Tables>): Promise<Facts> {
  const { rows } = await sql<Facts>`
    select current_setting('server_version') as version,
      has_schema_privilege(coalesce(current_schema(), 'public'), 'create') as "canCreate",
      exists (select from pg_extension where extname = 'pg_trgm')
        or (exists (select from pg_available_extensions where name = 'pg_trgm')
            and has_database_privilege(current_database(), 'create')) as "hasTrigrams",
      current_setting('transaction_read_only')::boolean as "isReadOnly",
      current_setting('max_connections')::int as "maxConnections",
      current_setting('superuser_reserved_connections')::int as reserved,
      (select rolconnlimit from pg_roles where rolname = current_user) as "userLimit",
      (select datconnlimit from pg_database where datname = current_database()) as "databaseLimit"`.execute(
    db,
  )
  return rows[0]!
}

/** A statement that takes longer makes every request slow, since most need several. */
const maxLatencyMs = 25

async function measureLatency(db: Db<Tables>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 7; i++) {
    const begun = performance.now()
    await sql`select 1`.execute(db)
    times.push(performance.now() - begun)
  }
  // The fastest one, because this process may be busy.
  return Math.min(...times)
}

export const databaseCheck: Check = {
  name: 'database',
  ifStuck,
  async run(context) {
    const { config, db } = context
    if (!db) return withoutDatabase(context)
    try {
      await checkServer(db as Parameters<typeof checkServer<Tables>>[0])
    } catch (error) {
      if (error instanceof DatabaseError && error.cause === undefined) {
        const [message = '', advice = ''] = error.message.split(/: (?=upgrade|create)/)
        return failed(`${message}.`, `${advice[0]?.toUpperCase()}${advice.slice(1)}`)
      }
      return explainDatabaseError(error, config.databaseUrl === undefined)
    }
    const facts = await readFacts(db)
    const latencyMs = await measureLatency(db)
    return judgeFacts(facts, latencyMs)
  },
}

function judgeFacts(facts: Facts, latencyMs: number): Finding {
  if (facts.isReadOnly)
    return failed(
      'The database is read-only.',
      'Use the primary server in KINORA_DATABASE_URL, and set default_transaction_read_only to off.',
    )
  if (!facts.canCreate)
    return failed(
      'The user of the database may not create tables, so that an upgrade fails.',
      'Run "grant create on schema public to" this user, as the owner of the database.',
    )
  if (!facts.hasTrigrams)
    return failed(
      'The extension pg_trgm is missing and this user cannot create it.',
      'Run "create extension pg_trgm" in this database as a superuser.',
    )
  const text = `Postgres ${facts.version}, ${latencyMs.toFixed(1)} ms for a statement`
  if (latencyMs <= maxLatencyMs) return ok(`${text}.`)
  return warning(
    `${text}, which makes every request slow.`,
    'Run the database on this machine or in the same network, and check its load.',
  )
}

export const connectionsCheck: Check = {
  name: 'database connections',
  ifStuck,
  async run(context) {
    const { db, config } = context
    if (!db) return withoutDatabase(context)
    if (config.databaseDirectUrl) return ok('Not examined: the pooler limits the connections to Postgres.')
    const facts = await readFacts(db).catch(() => undefined)
    if (!facts) return ok('Not examined: the database cannot be used.')
    const processes = await listProcesses(db).catch(() => [])
    const count = Math.max(1, processes.filter(({ isAlive }) => isAlive).length)
    return judgeConnections(facts, count, config.databaseConnections)
  },
}

export function judgeConnections(
  facts: Pick<Facts, 'maxConnections' | 'reserved' | 'userLimit' | 'databaseLimit'>,
  processes: number,
  perProcess: number,
): Finding {
  const limits = [
    { name: 'max_connections', limit: facts.maxConnections - facts.reserved },
    { name: 'the connection limit of the user', limit: facts.userLimit },
    { name: 'the connection limit of the database', limit: facts.databaseLimit },
  ].filter(({ limit }) => limit >= 0)
  const { name, limit } = limits.reduce((least, each) => (each.limit < least.limit ? each : least))
  const needed = processes * perProcess
  const count = `${processes} ${processes === 1 ? 'process' : 'processes'}`
  if (needed <= limit) return ok(`${count} may open ${needed} connections, and Postgres allows ${limit}.`)
  return warning(
    `${count} may open ${needed} connections, but ${name} allows ${limit}. Requests get 503 if there are too few.`,
    `Raise ${name} to at least ${needed + facts.reserved}, lower KINORA_DATABASE_CONNECTIONS, or run fewer processes.`,
  )
}

const maxOffsetMs = { warning: 2_000, failed: 15_000 }

export const clockCheck: Check = {
  name: 'clock',
  ifStuck,
  async run(context) {
    const { db, now } = context
    if (!db) return withoutDatabase(context)
    const offset = await measureClockOffset(db, now).catch(() => undefined)
    if (offset === undefined) return ok('Not compared: the database cannot be used.')
    return judgeClock(offset, 'that of the database')
  },
}

export function judgeClock(offsetMs: number, other: string): Finding {
  const seconds = Math.abs(offsetMs) / 1_000
  const text = `The clock of this machine is ${seconds.toFixed(seconds < 10 ? 1 : 0)} s ${offsetMs > 0 ? 'ahead of' : 'behind'} ${other}`
  const advice =
    'Synchronize the clocks of all machines by NTP, for example with chrony or systemd-timesyncd.'
  if (Math.abs(offsetMs) > maxOffsetMs.failed)
    return failed(`${text}: leases of jobs and broadcasts expire at the wrong time.`, advice)
  if (Math.abs(offsetMs) > maxOffsetMs.warning) return warning(`${text}.`, advice)
  return ok(`The clock agrees with ${other}.`)
}
