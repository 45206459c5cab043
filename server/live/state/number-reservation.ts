import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { FileNotFoundError } from '../../lib/files/files.ts'
import { reservedNumbersKey } from './files.ts'
import type { BroadcastEvent, LiveBroadcast } from './live-broadcast.ts'
import { type Claim, type NextNumbers, type Position, reservationFrom } from './store.ts'

/** A segment takes longer than the time between two renewals of the lease, which reserve numbers too. */
const segmentsAhead = 1
const retryMs = 500
/** With more than this in memory, nothing is read from the encoder. */
const maxWaitingBytes = 64 * 1024 * 1024
/** What an event takes besides its data. */
const eventBytes = 1024

type Deps = Pick<Context, 'files' | 'log'>
type Options = { claim: Claim; position: Position; live: LiveBroadcast }

/**
 * Shows to viewers what has reserved numbers. Players and caches take another segment with a number that they know, or
 * another init segment with an epoch that they know, for the one that they have loaded. So a number is written to a place
 * where the next owner finds it before viewers see it, because this process may be killed at any time. That is the row of
 * the broadcast, with each renewal of the lease, or a file while the database is unavailable. While the file store is unavailable as well,
 * events wait.
 */
export class NumberReservation {
  readonly #deps: Deps
  readonly #claim: Claim
  readonly #live: LiveBroadcast
  #reserved: NextNumbers
  #next: NextNumbers
  readonly #waiting: BroadcastEvent[] = []
  #waitingBytes = 0
  #drained: { promise: Promise<void>; resolve(): void } | undefined
  #isStoring = false

  constructor(deps: Deps, { claim, position, live }: Options) {
    this.#deps = deps
    this.#claim = claim
    this.#live = live
    this.#next = position.next
    this.#reserved = reservationFrom(position)
    live.closed.addEventListener('abort', () => this.#resume())
  }

  /** The first numbers that are not used. */
  get next(): NextNumbers {
    return this.#next
  }

  /** What should be reserved now. */
  get wanted(): NextNumbers {
    const { sequence, epoch } = this.#next
    return { sequence: sequence + segmentsAhead, epoch }
  }

  show(event: BroadcastEvent): void {
    if (this.#live.closed.aborted) return
    this.#next = latest(this.#next, numbersAfter(event))
    this.#waiting.push(event)
    this.#waitingBytes += sizeOf(event)
    this.#showReserved()
    if (this.#waiting.length > 0 && !this.#isStoring) void this.#store()
  }

  /** These numbers are reserved. */
  confirm(reserved: NextNumbers): void {
    this.#reserved = latest(this.#reserved, reserved)
    this.#showReserved()
  }

  #showReserved(): void {
    for (let event = this.#waiting[0]; event && this.#isReserved(event); event = this.#waiting[0]) {
      this.#waiting.shift()
      this.#waitingBytes -= sizeOf(event)
      this.#live.apply(event)
    }
    if (!this.#isFull) this.#resume()
  }

  /** Undefined, or a promise that resolves when there is memory again. */
  drain(): Promise<void> | undefined {
    if (!this.#isFull || this.#live.closed.aborted) return undefined
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  get #isFull(): boolean {
    return this.#waitingBytes > maxWaitingBytes
  }

  #resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }

  #isReserved(event: BroadcastEvent): boolean {
    const { sequence, epoch } = numbersAfter(event)
    return sequence <= this.#reserved.sequence && epoch <= this.#reserved.epoch
  }

  async #store(): Promise<void> {
    const { files, log } = this.#deps
    this.#isStoring = true
    while (this.#waiting.length > 0 && !this.#live.closed.aborted) {
      const { wanted } = this
      try {
        await files.put(reservedNumbersKey(this.#claim), Buffer.from(JSON.stringify(wanted)))
        this.confirm(wanted)
      } catch (err) {
        log.warn({ err, broadcastId: this.#claim.id }, 'live: numbers could not be reserved, retrying')
        await delay(retryMs)
      }
    }
    this.#isStoring = false
  }
}

/** What the owner has reserved outside the database. Undefined if nothing. */
export async function readReservedNumbers(
  files: Context['files'],
  claim: Claim,
): Promise<NextNumbers | undefined> {
  try {
    return JSON.parse((await buffer(await files.read(reservedNumbersKey(claim)))).toString())
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined
    throw error
  }
}

/** Zero where an event has no number. */
const numbersAfter = (event: BroadcastEvent): NextNumbers => ({
  sequence: 'sequence' in event ? event.sequence + 1 : 0,
  epoch: 'epoch' in event ? event.epoch + 1 : 0,
})

const sizeOf = (event: BroadcastEvent): number => eventBytes + ('data' in event ? event.data.length : 0)

const latest = (a: NextNumbers, b: NextNumbers): NextNumbers => ({
  sequence: Math.max(a.sequence, b.sequence),
  epoch: Math.max(a.epoch, b.epoch),
})
