import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { BackupRow } from './tables.ts'

/** The number of runs that are kept. */
const maxRows = 100

/** The last run that succeeded, or the last one that failed. */
export async function findLastBackup(
  db: Db<Tables>,
  { isFailed }: { isFailed: boolean } = { isFailed: false },
): Promise<BackupRow | undefined> {
  return db
    .selectFrom('backups')
    .selectAll()
    .where('finished_at', 'is not', null)
    .where('error', isFailed ? 'is not' : 'is', null)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Runs that were killed are marked as failed. The caller has the lock of backups, so none of them is in progress. */
export async function insertBackup(
  db: Db<Tables>,
  { id, destination, now }: { id: string; destination: string; now: Date },
): Promise<void> {
  await db
    .updateTable('backups')
    .set({ finished_at: now, error: 'The backup was interrupted.' })
    .where('finished_at', 'is', null)
    .execute()
  await db
    .deleteFrom('backups')
    .where('id', 'in', (q) =>
      q
        .selectFrom('backups')
        .select('id')
        .orderBy('started_at', 'desc')
        .offset(maxRows - 1),
    )
    .execute()
  await db
    .insertInto('backups')
    .values({
      id,
      destination,
      started_at: now,
      finished_at: null,
      files: null,
      bytes: null,
      copied_files: null,
      copied_bytes: null,
      error: null,
    })
    .execute()
}

export async function finishBackup(
  db: Db<Tables>,
  id: string,
  result: Partial<Pick<BackupRow, 'files' | 'bytes' | 'copied_files' | 'copied_bytes' | 'error'>>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('backups')
    .set({ ...result, finished_at: now })
    .where('id', '=', id)
    .execute()
}
