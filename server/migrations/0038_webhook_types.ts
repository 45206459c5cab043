import { type Kysely, sql } from 'kysely'

export const locks = ['webhooks']

export async function up(db: Kysely<unknown>): Promise<void> {
  // Each event looks for the webhooks that subscribe to its type.
  await sql`create index webhooks_events on webhooks using gin (events)`.execute(db)
}
