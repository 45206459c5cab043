import type { Config } from '../config.ts'
import { openDatabase } from '../database.ts'
import { DatabaseError } from '../lib/db.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { openFiles } from '../lib/files/open.ts'
import { createLog } from '../lib/log.ts'
import { PostgresError } from '../lib/postgres/open.ts'
import type { Finding } from '../sweep/findings.ts'
import { sweepAll } from '../sweep/sweep.ts'
import { CommandError } from './errors.ts'

type Options = { removes: boolean; json: boolean }
type Print = (line: string) => void

/** Compares all files with the database; removes orphaned files with --remove. */
export async function sweepFiles(config: Config, options: Options, print: Print): Promise<void> {
  try {
    await sweep(config, options, print)
  } catch (error) {
    const isKnown = [DatabaseError, PostgresError, FileStoreError].some((kind) => error instanceof kind)
    throw isKnown ? new CommandError((error as Error).message, { cause: error }) : error
  }
}

async function sweep(config: Config, { removes, json }: Options, print: Print): Promise<void> {
  const log = createLog('silent', false)
  const database = await openDatabase(config, log)
  try {
    const files = await openFiles(config)
    try {
      await files.check()
      let [orphans, missing] = [0, 0]
      const report = (finding: Finding) => {
        if (finding.kind === 'missing') missing += finding.files
        else orphans++
        print(json ? JSON.stringify(finding) : formatFinding(finding))
      }
      const deps = { config, db: database.db, files, log, now: () => new Date() }
      const reason = await sweepAll(deps, { removes, graceMs: config.sweep.graceMs, report })
      if (reason) throw new CommandError(`The sweep did not run: ${reason}.`)
      if (!json) print(formatSummary(orphans, missing, removes))
    } finally {
      await files.close()
    }
  } finally {
    await database.close()
  }
}

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
  if (orphans === 0 && missing === 0) return 'Files and database agree.'
  const advice = orphans > 0 && !removes ? ' Add --remove to remove the orphans.' : ''
  return `${orphans} orphaned, ${missing} missing.${advice}`
}
