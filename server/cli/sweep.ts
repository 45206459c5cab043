import { areRemovalsHeld, createUnlessHeld } from '../backups/hold.ts'
import { openFiles } from '../lib/files/open.ts'
import { withHeldRemovals } from '../lib/files/with-held-removals.ts'
import type { Finding } from '../sweep/findings.ts'
import { acceptOlderDatabase, sweepAll } from '../sweep/sweep.ts'
import { isStoreNewer, newerStoreWarning } from '../videos/store-generation.ts'
import type { Output } from './command.ts'
import { CommandError } from './errors.ts'
import { type Opened, withDatabase } from './with-database.ts'

/** Compares all files with the database; removes orphaned files with --remove. */
export const sweepFiles = (removes: boolean, output: Output): Promise<void> =>
  withDatabase((opened) => sweep(opened, removes, output))

async function sweep({ config, db, locks, log }: Opened, removes: boolean, output: Output): Promise<void> {
  const files = await openFiles(config)
  try {
    await files.check()
    let [orphans, missing] = [0, 0]
    const report = (finding: Finding) => {
      if (finding.kind === 'missing') missing += finding.files
      else orphans++
      output.print(formatFinding(finding), finding)
    }
    const deps = {
      config,
      db,
      locks,
      files: withHeldRemovals(files, createUnlessHeld(locks)),
      log,
      now: () => new Date(),
    }
    if (removes && (await areRemovalsHeld(db)))
      throw new CommandError('A backup copies files at the moment: try again when it has ended.')
    if (await isStoreNewer(deps)) {
      if (removes) await acceptOlderDatabase(deps)
      else output.warn(`${capitalize(newerStoreWarning)}. Add --remove to remove them.`)
    }
    const reason = await sweepAll(deps, { removes, graceMs: config.sweep.graceMs, report })
    if (reason) throw new CommandError(`The sweep did not run: ${reason}.`)
    if (!output.isJson) output.print(formatSummary(orphans, missing, removes), undefined)
  } finally {
    await files.close()
  }
}

const capitalize = (sentence: string) => `${sentence[0]!.toUpperCase()}${sentence.slice(1)}`

function formatFinding(finding: Finding): string {
  if (finding.kind === 'missing') {
    const { videoId, files, keys } = finding
    return `missing  ${videoId}: ${files} of its files, such as ${keys[0]}`
  }
  const size = finding.kind === 'orphans' ? ` (${finding.files} files, ${finding.bytes} bytes)` : ''
  const kind = finding.kind === 'orphans' ? '' : `${finding.kind} `
  return `${finding.isRemoved ? 'removed' : 'orphan '}  ${kind}${finding.key}${size}`
}

function formatSummary(orphans: number, missing: number, removes: boolean): string {
  if (orphans === 0 && missing === 0) return 'Files and database match.'
  const advice = orphans > 0 && !removes ? ' Add --remove to remove the orphans.' : ''
  return `${orphans} orphaned, ${missing} missing.${advice}`
}
