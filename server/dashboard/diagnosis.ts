import type { CheckResult } from '../doctor/check.ts'
import { examineQuickly } from '../doctor/doctor.ts'
import type { OpenContext } from '../slice.ts'

type Deps = Pick<OpenContext, 'config' | 'db' | 'files' | 'log' | 'now' | 'publicUrl'>

/** Some checks write to the file store and request the public URL. */
const validMs = 5 * 60_000

export type Diagnosis = { checkedAt: Date; warnings: CheckResult[] }

/** What the doctor finds about this process. The checks run in the background. */
export class DiagnosisCache {
  readonly #deps: Deps
  #last: (Diagnosis & { validUntil: number }) | undefined
  #running: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The last result, or null before the first one. Starts the checks again if it is old. */
  find(): Diagnosis | null {
    if (!this.#running && performance.now() > (this.#last?.validUntil ?? 0))
      this.#running = this.#examine().finally(() => {
        this.#running = undefined
      })
    return this.#last ? { checkedAt: this.#last.checkedAt, warnings: this.#last.warnings } : null
  }

  async #examine(): Promise<void> {
    const { config, db, files, log, now, publicUrl } = this.#deps
    try {
      const results = await examineQuickly({
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
      this.#last = { checkedAt: now(), warnings, validUntil: performance.now() + validMs }
    } catch (err) {
      log.warn({ err }, 'the checks of the system page failed')
    }
  }
}
