import { setTimeout as delay } from 'node:timers/promises'
import type { Installation } from '../machines/installation.ts'
import { query } from '../test/support/harness.ts'

const checkMs = 2_000
/** Without any progress for this long, something is stuck. Encoders get hardly any CPU time on a busy host. */
const stuckMs = 600_000

/** Waits until all work has ended. Throws if it makes no progress. */
export async function settle({ postgres }: Installation, report: (text: string) => void): Promise<void> {
  let last = ''
  let changedAt = Date.now()
  for (;;) {
    const counts = await countWork(postgres.primaryUrl())
    const open = Object.entries(counts).filter(([, count]) => count > 0)
    if (open.length === 0) return
    const state = open.map(([what, count]) => `${count} ${what}`).join(', ')
    if (state !== last) {
      last = state
      changedAt = Date.now()
      report(`waiting for ${state}`)
    }
    if (Date.now() - changedAt > stuckMs) throw new Error(`no progress: ${state}`)
    await delay(checkMs)
  }
}

async function countWork(database: string): Promise<Record<string, number>> {
  const rows = await query(
    database,
    `select 'sources' as what, count(*)::int from sources s join videos v on v.id = s.video_id
       where s.state = 'received' or (s.state = 'receiving' and s.address is not null)
     union all select 'chunks', count(*)::int from chunks where not is_paused
     union all select 'renditions', count(*)::int from renditions r join videos v on v.id = r.video_id
       where r.state in ('waiting', 'encoding')
     union all select 'broadcasts', count(*)::int from broadcasts where state <> 'ended'
     union all select 'recordings', count(*)::int from recordings where state = 'waiting'
     union all select 'deliveries', count(*)::int from deliveries where state = 'pending'
     union all select 'jobs', count(*)::int from pgboss.job where state in ('created', 'active', 'retry')`,
  )
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]))
}
