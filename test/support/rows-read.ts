import { type Kysely, sql, type Transaction } from 'kysely'

/** How many rows of a table the work reads: by scans of the table, and as entries of its indexes. */
export function countRowsRead<T>(
  db: Kysely<T>,
  table: string,
  work: (trx: Transaction<T>) => Promise<unknown>,
): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const count = async () => {
      const { rows } = await sql<{ rows: number }>`
        select sum(pg_stat_get_xact_tuples_returned(id))::int as rows
        from (select ${table}::regclass as id
          union all select indexrelid from pg_index where indrelid = ${table}::regclass) as read`.execute(trx)
      return rows[0]!.rows
    }
    // Postgres also counts what earlier transactions of the connection have read in the last second.
    const before = await count()
    await work(trx)
    return (await count()) - before
  })
}
