import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { WakeSignal } from '../../lib/wake-signal.ts'
import type { BroadcastLookup } from '../state/broadcast-lookup.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { versionOf } from './state.ts'

/** Processes announce changes. Without an announcement, the streams are read this often. */
const checkMs = 1_000
/** Many changes at once are read together. */
const pauseMs = 100

type Deps = Pick<Context, 'log'> & { changes: WakeSignal }
type Wait = { liveStreamId: string; version: string; done(): void }

/** Tells waiting viewers that the state of their live stream has changed. All of them share one query. */
export class StreamWatch {
  readonly #context: Deps
  readonly #lookup: BroadcastLookup
  readonly #waits = new Set<Wait>()
  #isRunning = false

  constructor(context: Deps, lookup: BroadcastLookup) {
    this.#context = context
    this.#lookup = lookup
  }

  /** Resolves when the stream no longer has this version, was deleted, or the signal is aborted. */
  waitForChange(stream: WatchedStream, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wait = { liveStreamId: stream.id, version: versionOf(stream), done: () => resolve() }
    this.#waits.add(wait)
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
    if (!this.#isRunning) void this.#run()
    return promise.finally(() => this.#waits.delete(wait))
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waits.size > 0) {
      const nextChange = this.#context.changes.listen()
      await this.#check().catch((err) =>
        this.#context.log.warn({ err }, 'live: the state of a live stream could not be read'),
      )
      await delay(pauseMs)
      await nextChange(checkMs)
    }
    this.#isRunning = false
  }

  async #check(): Promise<void> {
    const ids = new Set([...this.#waits].map(({ liveStreamId }) => liveStreamId))
    const streams = new Map((await this.#lookup.loadStreams([...ids])).map((stream) => [stream.id, stream]))
    for (const { liveStreamId, version, done } of this.#waits) {
      const stream = streams.get(liveStreamId)
      // Those who came during the query are asked the next time.
      if (ids.has(liveStreamId) && (!stream || versionOf(stream) !== version)) done()
    }
  }
}
