import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { readClock } from './store.ts'

const attempts = 3

/**
 * How far the clock of this process is ahead of that of the database, in milliseconds. The answer that came back fastest
 * is the most exact one.
 */
export async function measureClockOffset(db: Db<Tables>, now: () => Date): Promise<number> {
  let best = { tookMs: Number.POSITIVE_INFINITY, offsetMs: 0 }
  for (let i = 0; i < attempts; i++) {
    const begun = performance.now()
    const before = now().getTime()
    const databaseMs = await readClock(db)
    const tookMs = performance.now() - begun
    if (tookMs < best.tookMs) best = { tookMs, offsetMs: before + tookMs / 2 - databaseMs }
  }
  return Math.round(best.offsetMs)
}
