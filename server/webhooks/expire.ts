import type { Context } from '../context.ts'
import { deleteOld } from './log-store.ts'

const keptMs = 30 * 24 * 3_600_000
const batchSize = 1_000

/** Deliveries first, because listing and sending them needs their events. */
export async function deleteOldEvents({ db, now }: Pick<Context, 'db' | 'now'>): Promise<void> {
  const before = new Date(now().getTime() - keptMs)
  for (const table of ['deliveries', 'events'] as const) {
    while (await deleteOld(db, table, before, batchSize));
  }
}
