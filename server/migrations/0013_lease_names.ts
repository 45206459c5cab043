import { type Kysely, sql } from 'kysely'

// The names that the code uses.
export async function up(db: Kysely<unknown>): Promise<void> {
  const renames = [
    ['chunks', 'holder', 'lease_owner'],
    ['chunks', 'held_until', 'lease_until'],
    ['source_pieces', 'holder', 'lease_owner'],
    ['source_pieces', 'held_until', 'lease_until'],
    ['sources', 'lock_holder', 'lock_owner'],
    ['deliveries', 'holder', 'lease_owner'],
    ['pictures', 'wish', 'thumbnail_source'],
  ] as const
  for (const [table, from, to] of renames)
    await sql`alter table ${sql.table(table)} rename column ${sql.ref(from)} to ${sql.ref(to)}`.execute(db)
}
