import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import { deletePastPlays, deleteSessionBatch, type SessionSelector } from './session-delete-store.ts'
import { isDeadlock } from './session-store.ts'

const batchSize = 500
const maxAttempts = 4

/** Deletes sessions with their events in small transactions, so that no lock is held for long. Returns the number. */
export async function deleteSessions(db: Kysely<Tables>, selector: SessionSelector): Promise<number> {
  let deleted = 0
  for (let attempt = 1; ; ) {
    try {
      const batch = await db.transaction().execute((trx) => deleteSessionBatch(trx, selector, batchSize))
      deleted += batch.deleted
      if (batch.found < batchSize) break
      attempt = 1
    } catch (error) {
      if (attempt === maxAttempts || !isDeadlock(error)) throw error
      attempt += 1
    }
  }
  if ('mediaId' in selector) await deletePastPlays(db, selector.mediaId)
  return deleted
}
