import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { listTables } from './catalog.ts'
import { DumpReader } from './dump-reader.ts'

/** The dump is damaged, or does not match the tables. The message is a sentence. */
class DumpError extends Error {}

/**
 * Replaces all rows by those of a dump, in the transaction of the client. The database must have the migrations of the
 * dump and the tables of pg-boss. It must belong to the user of the client, but the user need not be a superuser.
 */
export async function loadDatabase(client: ClientBase, dump: AsyncIterable<Buffer>): Promise<void> {
  const tables = await listTables(client)
  const ours = tables.filter(({ schema }) => schema === 'public').map(({ name }) => `"${name}"`)
  // Migrations insert rows, too.
  await client.query(`truncate ${ours.join(', ')}`)
  // Triggers report changes. Rows of a dump are none, and contain what triggers had written.
  for (const table of ours) await client.query(`alter table ${table} disable trigger user`)
  const reader = new DumpReader(dump)
  for (let line = await reader.readLine(); line !== undefined; line = await reader.readLine())
    await loadStatement(client, line, reader)
  for (const table of ours) await client.query(`alter table ${table} enable trigger user`)
}

const comment = /^(?:--.*)?$/
const partition = /^select make_viewing_partitions\('(\d{4}-\d{2}-\d{2})'\);$/
const sequence = /^select setval\('([a-z0-9_]+)', (\d+), (true|false)\);$/
const copy = /^copy "(public|pgboss)"\."([a-z0-9_]+)" \(("[a-z0-9_]+"(?:, "[a-z0-9_]+")*)\) from stdin;$/

/** Only what `dumpDatabase` writes. Running any other statement would give a forged backup the rights of the database. */
async function loadStatement(client: ClientBase, line: string, reader: DumpReader): Promise<void> {
  if (comment.test(line)) return
  const [, day] = partition.exec(line) ?? []
  if (day !== undefined) return void (await client.query('select make_viewing_partitions($1)', [day]))
  const [, name, value, isCalled] = sequence.exec(line) ?? []
  if (name !== undefined)
    return void (await client.query('select setval($1::regclass, $2, $3)', [
      `public."${name}"`,
      value,
      isCalled,
    ]))
  const [, schema, table, columns] = copy.exec(line) ?? []
  if (schema === undefined || table === undefined || columns === undefined)
    throw new DumpError(`The dump of the database contains an unknown statement: ${line.slice(0, 80)}`)
  await loadRows(client, { schema, table, columns: columns.slice(1, -1).split('", "') }, reader)
}

type Target = { schema: string; table: string; columns: string[] }

async function loadRows(client: ClientBase, { schema, table, columns }: Target, reader: DumpReader) {
  const { rows: found } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [`"${schema}"."${table}"`],
  )
  // The migrations have created all tables of Kinora. An operator may have added this one.
  if (found.length === 0) return skipRows(reader)
  const known = new Set(found.map(({ name }) => name))
  const unknown = columns.filter((column) => !known.has(column))
  // The version of pg-boss may be newer than that of the dump, and may have dropped columns.
  if (unknown.length > 0 && schema === 'public')
    throw new DumpError(`The dump has columns that the table ${table} does not have: ${unknown.join(', ')}.`)
  const kept = columns.flatMap((column, i) => (known.has(column) ? [i] : []))
  const names = kept.map((i) => `"${columns[i]}"`).join(', ')
  const rows = unknown.length > 0 ? selectFields(reader.readRows(), kept) : reader.readRows()
  const load = (target: string) =>
    pipeline(Readable.from(rows), client.query(copyFrom(`copy ${target} (${names}) from stdin`)))
  if (schema === 'public') return load(`"${schema}"."${table}"`)
  await client.query(`create temporary table restored_jobs (like "${schema}"."${table}") on commit drop`)
  await load('restored_jobs')
  await keepJobs(client, names)
}

async function skipRows(reader: DumpReader): Promise<void> {
  for await (const _ of reader.readRows());
}

/** Leaves out the jobs of queues that this version does not have. Those that were running run again. */
async function keepJobs(client: ClientBase, columns: string): Promise<void> {
  await client.query(
    `update restored_jobs set state = 'retry', start_after = now(), heartbeat_on = null where state = 'active'`,
  )
  await client.query(
    `insert into pgboss.job (${columns}) select ${columns} from restored_jobs
     where name in (select name from pgboss.queue)`,
  )
}

/** Tabs separate the fields of a row. Those in values are escaped. */
async function* selectFields(rows: AsyncIterable<Buffer>, kept: number[]): AsyncGenerator<Buffer> {
  const reader = new DumpReader(rows)
  for (let line = await reader.readLine(); line !== undefined; line = await reader.readLine()) {
    const fields = line.split('\t')
    yield Buffer.from(`${kept.map((i) => fields[i]).join('\t')}\n`)
  }
}
