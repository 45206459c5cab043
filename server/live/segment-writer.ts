import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import type { Claim } from './broadcast-store.ts'
import * as store from './broadcast-store.ts'
import { liveSegmentKey } from './files.ts'
import type { Bytes } from './media/bytes.ts'
import type { Init } from './rendition.ts'
import type { LiveSegmentRow } from './tables.ts'

export type SegmentFile = Omit<LiveSegmentRow, 'broadcast_id' | 'bytes' | 'fence'> & { data: Bytes }

type Deps = Pick<Context, 'db' | 'files' | 'log'> & {
  claim: Claim
  onStored(segment: SegmentFile): void
  /** Another process owns the broadcast, or it has ended. */
  onLost(): void
  /** The store or the database does not work at the moment, or works again. */
  onProblem(message: string | undefined): void
}

/** With more than this in memory, nothing is read from the encoder. */
const maxPendingBytes = 64 * 1024 * 1024
/** A broadcast has a few writes per second, unless its encoder changes its configuration all the time. */
const maxPendingWrites = 500
const retryMs = 500

/** Stores what a broadcast produces, one after the other. It retries until it succeeds or the broadcast is lost. */
export class SegmentWriter {
  readonly #deps: Deps
  #last: Promise<void> = Promise.resolve()
  #pendingBytes = 0
  #pendingWrites = 0
  #isLost = false
  #drained: { promise: Promise<void>; resolve(): void } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  init(quality: string, init: Init): void {
    const { db, claim } = this.#deps
    this.run(() => store.insertInit(db, claim, { broadcast_id: claim.id, quality, ...init }))
  }

  segment(segment: SegmentFile): void {
    const { db, files, claim, onStored } = this.#deps
    const { data, ...row } = segment
    const { fence } = claim
    this.#pendingBytes += data.length
    this.run(async () => {
      await files.put(liveSegmentKey(claim.id, { ...row, fence }), data.buffers)
      const stored = { broadcast_id: claim.id, ...row, bytes: data.length, fence }
      return store.insertSegment(db, stored)
    }).then((isOurs) => {
      this.#pendingBytes -= data.length
      if (!this.#isFull) this.#resume()
      if (isOurs) onStored(segment)
    })
  }

  /** Adds a write. It returns false if the broadcast is no longer ours. */
  run(write: () => Promise<boolean>): Promise<boolean> {
    this.#pendingWrites++
    const result = this.#last.then(() => this.#retry(write))
    this.#last = result.then(() => {
      this.#pendingWrites--
      if (!this.#isFull) this.#resume()
    })
    return result
  }

  /** Resolves when everything so far is stored, or the broadcast is lost. */
  flush(): Promise<void> {
    return this.#last
  }

  /** Undefined, or a promise that resolves when there is memory again. */
  drain(): Promise<void> | undefined {
    if (!this.#isFull || this.#isLost) return undefined
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  get #isFull(): boolean {
    return this.#pendingBytes > maxPendingBytes || this.#pendingWrites > maxPendingWrites
  }

  /** Gives up on everything that has not been stored. */
  abandon(): void {
    this.#isLost = true
    this.#resume()
  }

  #resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }

  async #retry(write: () => Promise<boolean>): Promise<boolean> {
    let hasFailed = false
    while (!this.#isLost) {
      try {
        const isOurs = await write()
        if (hasFailed) this.#deps.onProblem(undefined)
        if (!isOurs) this.#lose()
        return isOurs
      } catch (err) {
        hasFailed = true
        this.#deps.log.warn({ err, broadcastId: this.#deps.claim.id }, 'live: a write failed, retrying')
        this.#deps.onProblem((err as Error).message)
        await delay(retryMs)
      }
    }
    return false
  }

  #lose(): void {
    if (this.#isLost) return
    this.abandon()
    this.#deps.onLost()
  }
}
