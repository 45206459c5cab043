import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { deleteSessions } from './delete-sessions.ts'
import { dropPartition, isLockUnavailable, listPartitions } from './partition-store.ts'
import { dayOf, startOfDay } from './session-id.ts'
import { isPartitionMissing, makePartitions } from './session-store.ts'

const daysAhead = 2

/**
 * Maintains the stored sessions. Both steps lock partitions and would deadlock with each other if they ran at the same
 * time.
 */
export async function expireSessions(context: Pick<Context, 'db' | 'config' | 'log' | 'now'>): Promise<void> {
  await updatePartitions(context)
  await deleteOldSandboxSessions(context)
}

/** Creates the partitions of the next days, and drops those older than `analyticsDays`. */
export async function updatePartitions({
  db,
  config,
  log,
  now,
}: Pick<Context, 'db' | 'log' | 'now'> & { config: Pick<Config, 'analyticsDays'> }): Promise<void> {
  const today = dayOf(now().getTime())
  await makePartitions(
    db,
    Array.from({ length: daysAhead + 1 }, (_, ahead) => today + ahead),
  )
  if (config.analyticsDays === 0) return
  const oldest = startOfDay(today - config.analyticsDays)
    .toISOString()
    .slice(0, 10)
    .replaceAll('-', '')
  const partitions = await listPartitions(db)
  for (const partition of partitions.filter((name) => name.slice(-8) < oldest)) {
    try {
      await db.transaction().execute((trx) => dropPartition(trx, partition))
    } catch (error) {
      // Another process dropped it.
      if (isPartitionMissing(error)) continue
      if (!isLockUnavailable(error)) throw error
      log.warn({ partition }, 'old partition is in use, dropping it later')
    }
  }
}

async function deleteOldSandboxSessions({
  db,
  config,
  now,
}: Pick<Context, 'db' | 'config' | 'now'>): Promise<void> {
  const { hours } = config.sandbox
  if (hours === 0) return
  const loadedBefore = new Date(now().getTime() - hours * 3_600_000)
  await deleteSessions(db, { environment: 'sandbox', loadedBefore })
}
