import { query } from './harness.ts'

/** The columns of all tables and views of a schema, by `table.column`. */
export type Columns = Map<string, { type: string; isNullable: boolean; hasDefault: boolean }>

export async function readColumns(url: string): Promise<Columns> {
  const rows = await query(
    url,
    `select c.relname || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
       not a.attnotnull as "isNullable", a.atthasdef or a.attidentity <> '' as "hasDefault"
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
       and a.attnum > 0 and not a.attisdropped`,
  )
  return new Map(rows.map(({ name, ...column }) => [name, column]))
}

/** What a program that knows only the columns before cannot work with. */
export function findBreaks(before: Columns, after: Columns): string[] {
  const tables = new Set([...before.keys()].map(tableOf))
  const breaks: string[] = []
  for (const [name, column] of before) {
    const now = after.get(name)
    if (!now) breaks.push(`${name} is gone`)
    else if (now.type !== column.type) breaks.push(`${name} was ${column.type} and is ${now.type}`)
    else if (isNeeded(now) && !isNeeded(column)) breaks.push(`${name} became necessary`)
  }
  for (const [name, column] of after)
    if (!before.has(name) && tables.has(tableOf(name)) && isNeeded(column))
      breaks.push(`${name} is new and necessary`)
  return breaks.sort()
}

const tableOf = (name: string) => name.split('.')[0]!

/** A row cannot be inserted without it. */
const isNeeded = ({ isNullable, hasDefault }: { isNullable: boolean; hasDefault: boolean }) =>
  !isNullable && !hasDefault
