import type { Transaction } from 'kysely'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { recordEvent } from '../../server/webhooks/events.ts'
import { encoded } from './receiver.ts'

/** Runs work in a transaction on the database of a service. */
export async function withDb(
  database: string,
  work: (trx: Transaction<Tables>) => Promise<void>,
): Promise<void> {
  const db = openDb<Tables>(openPool(database, () => {}))
  try {
    await db.transaction().execute(work)
  } finally {
    await db.destroy()
  }
}

/** Records one encoding event for each of `count` videos: `vi0`, `vi1` and so on. */
export const recordEvents = (database: string, count: number) =>
  withDb(database, async (trx) => {
    for (let i = 0; i < count; i++) {
      const payload = { videoId: `vi${i}`, encoding: 'hls', quality: '240p' } as const
      await recordEvent(trx, 'production', encoded, payload, new Date())
    }
  })
