import type { ClientBase } from 'pg'

export type Table = {
  schema: string
  name: string
  /** Without generated columns. */
  columns: string[]
  isPartition: boolean
  /** Which rows belong to a dump, as the end of a query. */
  condition: string
}

/** The migrator fills them. */
const migratorTables = ['kysely_migration', 'kysely_migration_lock']

/** pg-boss creates its own tables, and the service its queues. Only jobs that are not finished have to be kept. */
const jobs = { schema: 'pgboss', name: 'job', condition: ` where state in ('created', 'retry', 'active')` }

/** `c` is a table of an extension, such as PostGIS, and not one of Kinora. */
export const isOfExtension = `exists (
  select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`

/** Tables with rows, ordered by foreign keys: a table comes after those that it refers to. Jobs come last. */
export async function listTables(client: ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table & { id: string; refersTo: string[] }>(
    `select c.oid::text as id, n.nspname as schema, c.relname as name, c.relispartition as "isPartition",
       '' as condition,
       array(select attname::text from pg_attribute
             where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
       array(select confrelid::text from pg_constraint
             where conrelid = c.oid and contype = 'f' and confrelid <> c.oid) as "refersTo"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind = 'r' and c.relname <> all ($1) and not ${isOfExtension}
        or n.nspname = $2 and c.relname = $3
     order by n.nspname desc, c.relname`,
    [migratorTables, jobs.schema, jobs.name],
  )
  return inOrder(rows).map(({ id: _, refersTo: __, ...table }) =>
    table.schema === jobs.schema ? { ...table, condition: jobs.condition } : table,
  )
}

function inOrder<T extends { id: string; refersTo: string[] }>(tables: T[]): T[] {
  const visited = new Set<T>()
  const ordered: T[] = []
  const visit = (table: T) => {
    if (visited.has(table)) return
    visited.add(table)
    for (const other of tables) if (table.refersTo.includes(other.id)) visit(other)
    ordered.push(table)
  }
  for (const table of tables) visit(table)
  return ordered
}

export type Sequence = { name: string; value: number; isCalled: boolean }

export async function listSequences(client: ClientBase): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind = 'S' order by 1`,
  )
  const sequences: Sequence[] = []
  for (const { name } of rows) {
    const found = await client.query<Omit<Sequence, 'name'>>(
      `select last_value as value, is_called as "isCalled" from public."${name}"`,
    )
    sequences.push({ name, ...found.rows[0]! })
  }
  return sequences
}
