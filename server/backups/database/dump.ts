import type { Pool, PoolClient } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { messageOf } from '../../lib/database/errors.ts'
import { BackupError } from '../errors.ts'
import { listSequences, listTables, type Table } from './catalog.ts'
import { connect } from './connect.ts'

/** A view of the database at one moment, which several transactions can use. */
export type Snapshot = {
  /** Its transaction is read-only and sees the snapshot. */
  client: PoolClient
  id: string
  /** The migrations of the database, in order. */
  migrations: string[]
  close(): Promise<void>
}

export async function openSnapshot(pool: Pool): Promise<Snapshot> {
  const client = await connect(pool)
  try {
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query<{ id: string }>('select pg_export_snapshot() as id')
    return {
      client,
      id: rows[0]!.id,
      migrations: await listMigrations(client),
      // Nothing was written, so closing the connection is as good as a rollback.
      close: async () => client.release(true),
    }
  } catch (error) {
    client.release(true)
    throw error
  }
}

async function listMigrations(client: Pool | PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from kysely_migration order by name')
  return rows.map(({ name }) => name)
}

/**
 * Writes all rows of the snapshot as a script for psql. Only the rows: the migrations create the tables. pg_dump is not
 * part of the embedded Postgres.
 *
 * Each table is copied in a transaction of its own. One transaction for all of them would hold a lock on each table to
 * the end. A change to the schema, such as dropping an old partition, would wait for it, and every query behind that.
 */
export async function* dumpDatabase(pool: Pool, snapshot: Snapshot): AsyncGenerator<Buffer> {
  const line = (text: string) => Buffer.from(`${text}\n`)
  yield line('-- The rows of a Kinora database. `kinora restore` creates the tables and loads them.')
  yield line(`-- Migrations: ${snapshot.migrations.join(' ')}`)
  const tables = await listTables(snapshot.client)
  for (const day of partitionDays(tables)) yield line(`select make_viewing_partitions('${day}');`)
  for (const table of tables) {
    const columns = table.columns.map(quote).join(', ')
    yield line(`copy ${quote(table.schema)}.${quote(table.name)} (${columns}) from stdin;`)
    yield* copyRows(pool, snapshot, table)
    yield line('\\.')
  }
  // Sequences are not part of a snapshot. A later value is as good.
  for (const { name, value, isCalled } of await listSequences(snapshot.client))
    yield line(`select setval('${name}', ${value}, ${isCalled});`)
  // A table that a migration has rewritten since the snapshot seems to be empty in it.
  const current = await listMigrations(pool)
  if (current.length !== snapshot.migrations.length)
    throw new BackupError('The service was upgraded during the backup: run the backup again.')
}

/** Names come from migrations and contain only letters, digits and underscores. */
const quote = (name: string) => `"${name}"`

/** The days of viewing sessions and events. The names of their partitions end with the day, such as `20260102`. */
function partitionDays(tables: Table[]): Set<string> {
  const found = tables.map(({ name }) => /^viewing_(?:sessions|events)_(\d{4})(\d{2})(\d{2})$/.exec(name))
  return new Set(found.flatMap((match) => (match ? [match.slice(1).join('-')] : [])))
}

const undefinedTable = '42P01'

async function* copyRows(pool: Pool, snapshot: Snapshot, table: Table): AsyncGenerator<Buffer> {
  const client = await connect(pool)
  let isDone = false
  try {
    await client.query('begin isolation level repeatable read read only')
    await client.query(`set transaction snapshot '${snapshot.id}'`)
    const columns = table.columns.map(quote).join(', ')
    const rows = `select ${columns} from ${quote(table.schema)}.${quote(table.name)}${table.condition}`
    yield* client.query(copyTo(`copy (${rows}) to stdout`)) as AsyncIterable<Buffer>
    await client.query('commit')
    isDone = true
  } catch (error) {
    // The partition was dropped after the snapshot, because its rows had expired.
    const isExpired = (error as { code?: string }).code === undefinedTable && table.isPartition
    if (!isExpired)
      throw new BackupError(`The table ${table.name} could not be read: ${messageOf(error)}.`, {
        cause: error,
      })
  } finally {
    client.release(!isDone)
  }
}
