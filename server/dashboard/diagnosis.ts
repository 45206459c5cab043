import type { CheckResult } from '../doctor/check.ts'
import { examineQuickly } from '../doctor/doctor.ts'
import type { OpenContext } from '../slice.ts'

type Deps = Pick<OpenContext, 'config' | 'db' | 'files' | 'log' | 'now' | 'publicUrl'>

/** Some checks write to the file store and request the public URL. */
const validMs = 5 * 60_000

/** `isRunning`: a newer result will be there soon. */
export type Diagnosis = { checkedAt: Date; warnings: CheckResult[]; isRunning: boolean }

/** What the doctor finds about this process. The checks run in the background. */
export class DiagnosisCache {
  readonly #deps: Deps
  readonly #runChecks: typeof examineQuickly
  readonly #clock: () => number
  #last: (Omit<Diagnosis, 'isRunning'> & { validUntil: number }) | undefined
  #running: Promise<void> | undefined

  constructor(deps: Deps, runChecks = examineQuickly, clock = () => performance.now()) {
    this.#deps = deps
    this.#runChecks = runChecks
    this.#clock = clock
  }

  /** The last result, or null before the first one. Starts the checks again if it is old. */
  find(): Diagnosis | null {
    if (!this.#running && this.#clock() >= (this.#last?.validUntil ?? 0))
      this.#running = this.#examine().finally(() => {
        this.#running = undefined
      })
    if (!this.#last) return null
    const { checkedAt, warnings } = this.#last
    return { checkedAt, warnings, isRunning: this.#running !== undefined }
  }

  async #examine(): Promise<void> {
    const { config, db, files, log, now, publicUrl } = this.#deps
    try {
      const results = await this.#runChecks({
        config,
        env: process.env,
        settingsProblems: [],
        runningPublicUrl: config.publicUrl,
        db,
        isDataHidden: false,
        // The store of the process stays open.
        files: async () => ({ ...files, close: async () => {} }),
        localUrl: publicUrl(),
        publicUrl: publicUrl(),
        now,
      })
      const warnings = results.filter(({ state }) => state !== 'ok')
      this.#last = { checkedAt: now(), warnings, validUntil: this.#clock() + validMs }
    } catch (err) {
      log.warn({ err }, 'the checks of the system page failed')
    }
  }
}
