import { LRUCache } from 'lru-cache'
import { maxEntries } from '../lib/lru.ts'
import type { Run, RunTotals } from './run-store.ts'

/** A page that polls shows a change within this time. */
const minMs = 1_000
/** The counting of a large import takes a tenth of the time at most. */
const reuseFactor = 9
/** Nothing changes any more. */
const endedMs = 60_000

/** The totals of runs. All requests share one count, so that its cost does not depend on how many pages poll. */
export class TotalsCache {
  readonly #countRuns: (ids: string[]) => Promise<Map<string, RunTotals>>
  readonly #cache = new LRUCache<string, Promise<RunTotals>>(maxEntries(1_000))

  constructor(countRuns: (ids: string[]) => Promise<Map<string, RunTotals>>) {
    this.#countRuns = countRuns
  }

  /** In the order of the runs. Those of a state are never shown with another one: a completed run is counted again. */
  read(runs: Run[]): Promise<RunTotals[]> {
    const cached = runs.map((run) => this.#cache.get(keyOf(run)))
    const missing = runs.filter((_, n) => !cached[n])
    const counted = this.#count(missing)
    return Promise.all(runs.map((run, n) => cached[n] ?? counted.get(run.id)!))
  }

  #count(runs: Run[]): Map<string, Promise<RunTotals>> {
    if (runs.length === 0) return new Map()
    const startedAt = performance.now()
    const ids = runs.map(({ id }) => id)
    const query = this.#countRuns(ids)
    return new Map(
      runs.map((run) => {
        const totals = query.then((found) => found.get(run.id)!)
        this.#cache.set(keyOf(run), totals)
        totals.then(
          (value) => {
            const ttl = Math.max(minMs, reuseFactor * (performance.now() - startedAt))
            this.#cache.set(keyOf(run), totals, { ttl: hasEnded(run, value) ? Math.max(endedMs, ttl) : ttl })
          },
          () => this.#cache.delete(keyOf(run)),
        )
        return [run.id, totals]
      }),
    )
  }
}

const keyOf = ({ id, state, updated_at, listed_at }: Run) =>
  [id, state, updated_at.getTime(), listed_at?.getTime()].join()

/** Videos of a canceled run may still be encoded. */
const hasEnded = ({ ended_at }: Run, { states: { waiting = 0, fetching = 0, encoding = 0 } }: RunTotals) =>
  ended_at !== null && waiting + fetching + encoding === 0
