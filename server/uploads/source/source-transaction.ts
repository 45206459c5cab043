import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import type { Tables } from '../../tables.ts'
import type { UploadCoordinator } from './coordinator.ts'

/** A transaction that changes a source. Requests of this process wait for each other without a database connection. */
export function changeSource<T>(
  { db, coordinator }: Pick<Context, 'db'> & { coordinator: UploadCoordinator },
  videoId: string,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return coordinator.runExclusive(videoId, () => db.transaction().execute(work))
}
