import { sql } from 'kysely'
import type { Db } from '../../../lib/db.ts'
import type { Tables } from '../../../tables.ts'

export type Receiver = { id: string; url: string }

/** How often a process announces itself, and after how long without that it is gone. */
export const announceMs = 5_000
const goneSeconds = 20

export async function announceReceiver(db: Db<Tables>, { id, url }: Receiver): Promise<void> {
  await sql`
    insert into whip_receivers (id, url, seen_at) values (${id}, ${url}, clock_timestamp())
    on conflict (id) do update set seen_at = excluded.seen_at`.execute(db)
}

export async function removeReceiver(db: Db<Tables>, id: string): Promise<void> {
  await db.deleteFrom('whip_receivers').where('id', '=', id).execute()
}

export async function deleteGoneReceivers(db: Db<Tables>): Promise<void> {
  await sql`delete from whip_receivers where seen_at < clock_timestamp() - interval '1 hour'`.execute(db)
}

/** In random order, so that the encoders spread. */
export async function listReceivers(db: Db<Tables>): Promise<Receiver[]> {
  const { rows } = await sql<Receiver>`
    select id, url from whip_receivers
    where seen_at > clock_timestamp() - ${goneSeconds} * interval '1 second' order by random()`.execute(db)
  return rows
}
