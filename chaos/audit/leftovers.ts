import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installation } from '../../machines/installation.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { createLog } from '../../server/lib/log.ts'
import { readConfig } from '../../server/read-config.ts'
import { sweepAll } from '../../server/sweep/sweep.ts'
import type { Tables } from '../../server/tables.ts'
import { query } from '../../test/support/harness.ts'
import type { Ledger } from '../ledger.ts'

/** What processes of other machines have begun is removed a day after its last change. */
const afterMs = 25 * 3_600_000

/** Nothing is left over: files without rows, rows without files, programs, leases, folders. */
export async function auditLeftovers(
  { postgres, kinora }: Installation,
  files: Files,
  ledger: Ledger,
): Promise<{ orphans: number }> {
  const database = postgres.primaryUrl()
  const orphans = await auditFiles(database, files, ledger)
  const leased = await query(
    database,
    `select 'chunks' as what, count(*)::int from chunks where lease_until > now()
     union all select 'broadcasts', count(*)::int from broadcasts where state <> 'ended'`,
  )
  for (const { what, count } of leased) if (count > 0) ledger.report(`${count} ${what} are still in progress`)
  for (const machine of kinora) {
    const list = await machine.run(['ps', '-e', '-o', 'comm='])
    const programs = list.split('\n').filter((name) => /ffmpeg|ffprobe|defunct/.test(name))
    if (programs.length > 0) ledger.report(`${machine.name} still runs ${programs.join(', ')}`)
    const work = await readdir(machine.path(join(machine.folder, 'data/work'))).catch(() => [])
    if (work.length > 0) ledger.report(`${machine.name} has work folders: ${work.slice(0, 5).join(', ')}`)
  }
  return { orphans }
}

/** Sweeps as the service does a day later. A second sweep must find nothing. */
async function auditFiles(database: string, files: Files, ledger: Ledger): Promise<number> {
  const pool = openPool(database, () => {})
  const db = openDb<Tables>(pool)
  const config = readConfig({ KINORA_DATABASE_URL: database })
  const now = () => new Date(Date.now() + afterMs)
  const deps = { config, db, locks: db, files, now, log: createLog('silent', false) }
  let orphans = 0
  try {
    for (const isFirst of [true, false]) {
      const reason = await sweepAll(deps, {
        removes: isFirst,
        graceMs: 0,
        report(finding) {
          if (finding.kind !== 'missing' && isFirst) orphans++
          else ledger.report(`the sweep found ${JSON.stringify(finding).slice(0, 300)}`)
        },
      })
      if (reason) ledger.report(`the sweep did not run: ${reason}`)
    }
  } finally {
    await pool.end()
  }
  return orphans
}
