import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { WakeSignal } from '../../lib/wake-signal.ts'
import { problemKinds } from '../metrics.ts'
import { endOverdueBroadcasts } from '../output/end-broadcast.ts'
import type { Broadcasts } from '../state/live-broadcast.ts'
import { listStates, renewLeases } from '../state/store.ts'
import type { BroadcastOwner } from './broadcast-owner.ts'
import { allowHeapGrowth } from './heap-growth.ts'

const checkMs = 1_000
/** How long a shutdown waits until everything is stored. */
const maxCloseMs = 30_000

export type OwnersContext = Context & {
  broadcasts: Broadcasts
  /** Any process has begun, changed or ended a broadcast, or its end was requested. */
  changes: WakeSignal
}

/** The connected encoders of this process, as owners of their broadcasts. Keeps their leases. */
export class Owners {
  readonly #context: OwnersContext
  /** A live stream may have several: the encoder of a broadcast that was completed may still be connected. */
  readonly #owners = new Set<BroadcastOwner>()
  /** No more leases are renewed. */
  readonly #closed = new AbortController()
  #checks: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(context: OwnersContext) {
    this.#context = context
  }

  open(): void {
    this.#exportGauges()
    this.#checks = this.#repeatChecks()
    this.#timer = setInterval(() => {
      for (const owner of this.#owners) owner.checkConnection()
    }, checkMs)
  }

  add(owner: BroadcastOwner): void {
    this.#owners.add(owner)
    allowHeapGrowth(true)
  }

  /** Resolves when everything that the encoder sent is stored. */
  async disconnect(owner: BroadcastOwner): Promise<void> {
    await owner.disconnect()
    this.#owners.delete(owner)
    if (this.#owners.size === 0) allowHeapGrowth(false)
  }

  /** Resolves when everything of the live stream is stored that its earlier connections have sent. */
  async stored(liveStreamId: string): Promise<void> {
    const owners = [...this.#owners].filter(({ broadcast }) => broadcast.live_stream_id === liveStreamId)
    await Promise.all(owners.map(({ finished }) => finished))
  }

  async close(): Promise<void> {
    const { broadcasts, changes } = this.#context
    await Promise.all([...this.#owners].map((owner) => this.#release(owner)))
    this.#closed.abort()
    changes.wake()
    clearInterval(this.#timer)
    await this.#checks
    for (const live of broadcasts.values()) live.close()
    broadcasts.clear()
  }

  /** The encoder connects to another process as soon as it is disconnected, so everything is stored before. */
  async #release(owner: BroadcastOwner): Promise<void> {
    const timeout = new AbortController()
    const stored = this.disconnect(owner).finally(() => timeout.abort())
    await Promise.race([stored, delay(maxCloseMs, undefined, { signal: timeout.signal }).catch(() => {})])
    owner.close()
  }

  #exportGauges(): void {
    const { gauge } = this.#context.metrics
    const sending = () => [...this.#owners].filter(({ isOver }) => !isOver)
    gauge({ name: 'kinora_live_encoders', help: 'Encoders that send to this process' }, () => [
      { value: sending().length },
    ])
    gauge(
      {
        name: 'kinora_live_problems',
        help: 'Broadcasts of this process that have a problem of this kind',
        labels: ['kind'],
      },
      () =>
        problemKinds.map((kind) => ({
          value: sending().filter((owner) => owner.problemKinds.includes(kind)).length,
          labels: { kind },
        })),
    )
    gauge(
      {
        name: 'kinora_live_ladder_lag_seconds',
        help: 'How far the encoded qualities are behind the source, of the slowest broadcast of this process',
      },
      () => [{ value: Math.max(0, ...sending().map(({ lagMs }) => lagMs)) / 1000 }],
    )
  }

  async #repeatChecks(): Promise<void> {
    const { changes, log } = this.#context
    while (!this.#closed.signal.aborted) {
      const wait = changes.listen()
      await this.#check().catch((err) => log.warn({ err }, 'live: a check failed'))
      await wait(checkMs)
    }
  }

  async #check(): Promise<void> {
    await this.#renewLeases()
    await endOverdueBroadcasts(this.#context)
    await this.#forgetBroadcasts()
  }

  /** An error concerns one broadcast, or the database, which may be back before the leases end. */
  async #renewLeases(): Promise<void> {
    const { log } = this.#context
    const owners = [...this.#owners].filter(({ needsLease }) => needsLease)
    if (owners.length === 0) return
    try {
      await this.#renew(owners)
    } catch {
      const renew = (owner: BroadcastOwner) =>
        this.#renew([owner]).catch((err) =>
          log.warn({ err, broadcastId: owner.claim.id }, 'live: a lease could not be renewed'),
        )
      await Promise.all(owners.map(renew))
    }
  }

  async #renew(owners: BroadcastOwner[]): Promise<void> {
    const reports = owners.map((owner) => owner.report())
    const renewals = await renewLeases(this.#context.db, reports)
    for (const [i, owner] of owners.entries()) owner.renewed(renewals[i]!, reports[i]!)
  }

  /** Broadcasts that have ended, or that another process owns now, are served from the database or by the other one. */
  async #forgetBroadcasts(): Promise<void> {
    const { broadcasts, db } = this.#context
    // Others may be added during the query.
    const known = [...broadcasts]
    const states = known.length > 0 ? await listStates(db, [...broadcasts.keys()]) : []
    for (const [id, live] of known) {
      const row = states.find((state) => state.id === id)
      const isEnded = row?.state === 'ended'
      // The end increases the fence.
      const isOurs = row?.fence === live.fence + (isEnded ? 1 : 0)
      if (isEnded && isOurs && !live.isEnded) live.apply({ kind: 'end' })
      if (isOurs && !row.isForgotten) continue
      if (broadcasts.get(id) === live) broadcasts.delete(id)
      live.close()
    }
  }
}
