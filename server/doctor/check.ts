import type { Config } from '../config.ts'
import type { Db } from '../lib/db.ts'
import type { Files } from '../lib/files/files.ts'
import type { Tables } from '../tables.ts'

export type CheckState = 'ok' | 'warning' | 'failed'

/** `advice` says what to change. Null if nothing has to be changed. */
export type CheckResult = { name: string; state: CheckState; message: string; advice: string | null }

export type Finding = Omit<CheckResult, 'name'>

/** What checks examine. None of them changes anything. */
export type DoctorContext = {
  config: Config
  env: Record<string, string | undefined>
  /** Of the settings, one sentence each. */
  settingsProblems: string[]
  /** The public URL of the service that runs on this data folder. */
  runningPublicUrl: string | undefined
  /** Undefined if the embedded Postgres does not run, because the service starts it, or if it cannot be used. */
  db: Db<Tables> | undefined
  /** Whether the data folder belongs to another user or hangs, so that it is unknown what runs on it. */
  isDataHidden: boolean
  /** Rejects if the store cannot be opened. Undefined if its folder does not exist yet. */
  files: (() => Promise<Files>) | undefined
  /** The URL by which this machine reaches the service. Undefined if the service does not run here. */
  localUrl: string | undefined
  publicUrl: string
  now: () => Date
}

export type Check = {
  name: string
  /** What to do if the check does not end. */
  ifStuck: string
  run(context: DoctorContext, signal: AbortSignal): Promise<Finding | Finding[]>
}

/** For checks that need the database, and have none. */
export const withoutDatabase = ({ isDataHidden }: Pick<DoctorContext, 'isDataHidden'>): Finding =>
  ok(
    isDataHidden
      ? 'Not examined: see the result for the data folder.'
      : 'Not examined: the embedded Postgres does not run. It starts with the service.',
  )

export const ok = (message: string): Finding => ({ state: 'ok', message, advice: null })
export const warning = (message: string, advice: string): Finding => ({ state: 'warning', message, advice })
export const failed = (message: string, advice: string): Finding => ({ state: 'failed', message, advice })

/** Much longer than a check takes on a busy machine. A check that takes longer is stuck. */
const timeoutMs = 30_000

/** Runs all checks at the same time. A check that throws or hangs is a result like the others. */
export async function runChecks(
  checks: readonly Check[],
  context: DoctorContext,
  limitMs = timeoutMs,
): Promise<CheckResult[]> {
  const results = await Promise.all(
    checks.map(async (check) => {
      const findings = [await runCheck(check, context, limitMs)].flat()
      return findings.map((finding) => ({ name: check.name, ...finding }))
    }),
  )
  return results.flat()
}

async function runCheck(
  { run, ifStuck }: Check,
  context: DoctorContext,
  limitMs: number,
): Promise<Finding | Finding[]> {
  const timeout = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const stuck = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => {
      resolve(failed(`No result within ${limitMs / 1_000} s.`, ifStuck))
      timeout.abort()
    }, limitMs)
  })
  try {
    return await Promise.race([run(context, timeout.signal), stuck])
  } catch (error) {
    return failed(`The check failed: ${firstLine(error)}.`, ifStuck)
  } finally {
    clearTimeout(timer)
  }
}

/** Without the full stop, for sentences that continue, and without the advice about Node that OpenSSL errors have. */
export function firstLine(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] ?? error) : error
  const text = inner instanceof Error ? inner.message || inner.name : String(inner)
  return text.split('\n', 1)[0]!.replace(/; if the root CA is installed locally.*|\.$/, '')
}
