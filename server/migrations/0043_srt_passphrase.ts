import { type Kysely, sql } from 'kysely'

export const locks = ['live_streams']

export async function up(db: Kysely<unknown>): Promise<void> {
  // What encoders encrypt SRT with. Without one, SRT is not encrypted.
  await sql`alter table live_streams add column srt_passphrase text`.execute(db)
}
