import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { FileStoreError } from '../../lib/files/files.ts'
import type { Bytes } from '../media/bytes.ts'
import { liveSegmentKey } from '../state/files.ts'
import type { Init } from '../state/rendition.ts'
import type { Claim } from '../state/store.ts'
import * as store from '../state/store.ts'
import type { LiveSegmentRow } from '../tables.ts'

export type SegmentFile = Omit<LiveSegmentRow, 'broadcast_id' | 'bytes' | 'fence'> & { data: Bytes }

type Deps = Pick<Context, 'db' | 'files' | 'log'> & {
  claim: Claim
  onStored(segment: SegmentFile): void
  /** The store is full. The segment is given up, so that the broadcast can go on. */
  onDropped(segment: SegmentFile): void
  /** Another process owns the broadcast, or it has ended. */
  onLost(): void
  /** The store or the database does not work at the moment, or works again. */
  onProblem(error: unknown): void
}

/** With more than this in memory, nothing is read from the encoder. */
const maxPendingBytes = 64 * 1024 * 1024
/** Segments that wait for a full store. Viewers get them from memory meanwhile. */
const maxWaitingBytes = 32 * 1024 * 1024
/** A broadcast has a few writes per second, unless its encoder changes its configuration all the time. */
const maxPendingWrites = 500
const maxWaitingWrites = 250
const retryMs = 500

/**
 * Stores what a broadcast produces, one after the other. It retries until it succeeds or the broadcast is lost. While the
 * store is full, it gives up the oldest segments.
 */
export class WriteQueue {
  readonly #deps: Deps
  #last: Promise<void> = Promise.resolve()
  #pendingBytes = 0
  #pendingWrites = 0
  #isLost = false
  #isEnding = false
  #hasProblem = false
  #drained: { promise: Promise<void>; resolve(): void } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  init(quality: string, init: Init): void {
    const { db, claim } = this.#deps
    this.run(() => store.insertInit(db, claim, { broadcast_id: claim.id, quality, ...init }))
  }

  segment(segment: SegmentFile): void {
    const { db, files, claim, onStored, onDropped } = this.#deps
    const { data, ...row } = segment
    const { fence } = claim
    this.#pendingBytes += data.length
    const write = async () => {
      await files.put(liveSegmentKey(claim.id, { ...row, fence }), data.buffers)
      const stored = { broadcast_id: claim.id, ...row, bytes: data.length, fence }
      return store.insertSegment(db, stored)
    }
    this.#add(write, (error) => this.#mayDrop(error)).then((result) => {
      this.#pendingBytes -= data.length
      if (!this.#isFull) this.#resume()
      if (result === 'dropped') onDropped(segment)
      else if (result) onStored(segment)
    })
  }

  /** Adds a write. It returns false if the broadcast is no longer ours. */
  async run(write: () => Promise<boolean>): Promise<boolean> {
    return (await this.#add(write, () => false)) === true
  }

  #add(write: () => Promise<boolean>, mayDrop: (error: unknown) => boolean): Promise<boolean | 'dropped'> {
    this.#pendingWrites++
    const result = this.#last.then(() => this.#retry(write, mayDrop))
    this.#last = result.then(() => {
      this.#pendingWrites--
      if (!this.#isFull) this.#resume()
    })
    return result
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

  /** Nothing more is received, so the rest does not wait for a full store. */
  end(): void {
    this.#isEnding = true
  }

  #mayDrop(error: unknown): boolean {
    const waitsLong = this.#pendingBytes > maxWaitingBytes || this.#pendingWrites > maxWaitingWrites
    return error instanceof FileStoreError && error.kind === 'full' && (waitsLong || this.#isEnding)
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

  async #retry(
    write: () => Promise<boolean>,
    mayDrop: (error: unknown) => boolean,
  ): Promise<boolean | 'dropped'> {
    while (!this.#isLost) {
      try {
        const isOurs = await write()
        if (this.#hasProblem) this.#report(undefined)
        if (!isOurs) this.#lose()
        return isOurs
      } catch (err) {
        if (!this.#hasProblem)
          this.#deps.log.warn({ err, broadcastId: this.#deps.claim.id }, 'live: a write failed, retrying')
        this.#report(err)
        if (mayDrop(err)) return 'dropped'
        await delay(retryMs)
      }
    }
    return false
  }

  #report(error: unknown): void {
    this.#hasProblem = error !== undefined
    this.#deps.onProblem(error)
  }

  #lose(): void {
    if (this.#isLost) return
    this.abandon()
    this.#deps.onLost()
  }
}
