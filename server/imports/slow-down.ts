import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import type { Run } from './run-store.ts'
import { countFetching } from './work-store.ts'

/** How often a fetch looks how many others share the bandwidth. */
const shareEveryMs = 5_000
/** Longer pauses would look like a connection that is dead. */
const maxPauseMs = 5_000

/** Passes the bytes on, no faster than the share of the run's bandwidth. */
export async function* slowDown(
  { db }: Pick<Context, 'db'>,
  { id, bandwidth }: Run,
  body: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  if (bandwidth === null) return yield* body
  let share = bandwidth
  let sharedAt = Number.NEGATIVE_INFINITY
  let freeAt = performance.now()
  for await (const bytes of body) {
    if (performance.now() > sharedAt + shareEveryMs) {
      share = bandwidth / Math.max(1, await countFetching(db, id))
      sharedAt = performance.now()
    }
    freeAt = Math.max(freeAt, performance.now()) + (1000 * bytes.length) / share
    yield bytes
    for (let waitMs = freeAt - performance.now(); waitMs > 0; waitMs = freeAt - performance.now())
      await delay(Math.min(waitMs, maxPauseMs))
  }
}
