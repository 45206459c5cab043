import type { Client } from 'pg'

type Size = { table: string; rows: string; bytes: string; indexBytes: string }

/** The largest tables. Partitions count as their table. */
export async function printRowSizes(client: Client): Promise<void> {
  const { rows } = await client.query<Size>(
    `select regexp_replace(relname, '_\\d{8}$', '') as table, sum(reltuples)::bigint as rows,
            sum(pg_table_size(oid)) as bytes, sum(pg_indexes_size(oid)) as "indexBytes"
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples > 0
     group by 1 order by sum(pg_total_relation_size(oid)) desc limit 12`,
  )
  for (const { table, rows: count, bytes, indexBytes } of rows) {
    const each = (of: string) => Math.round(Number(of) / Number(count))
    const total = (Number(bytes) + Number(indexBytes)) / 1e9
    console.log(
      `  ${table}: ${count} rows, ${total.toFixed(2)} GB, ${each(bytes)} bytes per row and ${each(indexBytes)} in indexes`,
    )
  }
}
