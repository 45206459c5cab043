import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { atom } from '../../lib/time.ts'
import { createWakeSignal } from '../../lib/wake-signal.ts'
import {
  findByStreamKey,
  liveChannel,
  recordRefusal,
  type StoredLiveStream,
} from '../../live-streams/store.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { endOverdueBroadcasts } from '../output/end-broadcast.ts'
import type { LadderBudget } from '../output/ladder/budget.ts'
import type { Broadcasts } from '../state/live-broadcast.ts'
import { loadBroadcast } from '../state/load-broadcast.ts'
import { readReservedNumbers } from '../state/number-reservation.ts'
import {
  type Abandoned,
  type Claimed,
  claimBroadcast,
  listStates,
  type Occupied,
  renewLeases,
  setAway,
} from '../state/store.ts'
import { BroadcastOwner } from './broadcast-owner.ts'
import { allowHeapGrowth } from './heap-growth.ts'
import type { Connection, PublishAnswer } from './publisher.ts'
import { createRtmpServer } from './rtmp/server.ts'

type Tls = { cert: Buffer; key: Buffer }
export type RtmpPorts = { rtmpPort: number; rtmpsPort: number | undefined }

const checkMs = 1_000
const claimRetryMs = 500
/** An owner that has not renewed its lease in this time is gone. After an outage of the database, all leases are over. */
const renewalMs = 2_500
/** How long a shutdown waits until everything is stored. */
const maxCloseMs = 30_000
const unknownKey = { refused: 'The stream key is unknown.' }

type IngestContext = Context & {
  broadcasts: Broadcasts
  tools: Pick<Tools, 'ffmpeg'>
  budget: LadderBudget
}

/** Receives broadcasts over RTMP and RTMPS. Runs in processes with the role `live`. */
export class Ingest {
  /** The end of a broadcast may have been requested. */
  readonly channels = { [liveChannel]: () => this.#wake.wake() }
  readonly #context: IngestContext
  readonly #ownerUrl: string
  readonly #servers: Server[] = []
  /** A live stream may have several: the encoder of a broadcast that was completed may still be connected. */
  readonly #owners = new Set<BroadcastOwner>()
  readonly #wake = createWakeSignal()
  /** No more encoders are accepted. */
  readonly #closing = new AbortController()
  /** No more leases are renewed. */
  readonly #closed = new AbortController()
  #checks: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(context: IngestContext, ownerUrl: string) {
    this.#context = context
    this.#ownerUrl = ownerUrl
  }

  async open(tls: Tls | undefined): Promise<RtmpPorts> {
    const { config } = this.#context
    const rtmpPort = await this.#listen(config.rtmpPort)
    const rtmpsPort = tls ? await this.#listen(config.rtmpsPort, tls) : undefined
    this.#checks = this.#repeatChecks()
    this.#timer = setInterval(() => this.#checkConnections(), checkMs)
    return { rtmpPort, rtmpsPort }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    for (const server of this.#servers) server.close()
    await Promise.all([...this.#owners].map((owner) => this.#release(owner)))
    this.#closed.abort()
    this.#wake.wake()
    clearInterval(this.#timer)
    await this.#checks
    const { broadcasts } = this.#context
    for (const live of broadcasts.values()) live.close()
    broadcasts.clear()
  }

  /** The encoder connects to another process as soon as it is disconnected, so everything is stored before. */
  async #release(owner: BroadcastOwner): Promise<void> {
    const timeout = new AbortController()
    const stored = this.#disconnect(owner).finally(() => timeout.abort())
    await Promise.race([stored, delay(maxCloseMs, undefined, { signal: timeout.signal }).catch(() => {})])
    owner.close()
  }

  async #listen(port: number, tls?: Tls): Promise<number> {
    const server = createRtmpServer({
      tls,
      publish: (key, connection) => this.#publish(key, connection),
      onRefused: (reason) => this.#context.log.info({ reason }, 'live: a connection has ended'),
      onError: (err) => this.#context.log.error({ err }, 'live: a connection failed'),
    })
    this.#servers.push(server)
    server.listen(port, this.#context.config.host)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  async #publish(streamKey: string, connection: Connection): Promise<PublishAnswer> {
    const { db, log } = this.#context
    const stream = await findByStreamKey(db, streamKey)
    if (!stream) return unknownKey
    const refuse = async (reason: string) => {
      await recordRefusal(db, stream.id, { at: atom(this.#context.now()), reason }).catch((err) =>
        log.warn({ err, liveStreamId: stream.id }, 'live: a refusal was not recorded'),
      )
      return { refused: reason }
    }
    // The encoder may return before everything of its last connection is stored.
    await this.#stored(stream.id)
    const claimed = await this.#claim(stream, connection)
    if (claimed === 'deleted') return unknownKey
    if (this.#closing.signal.aborted) return this.#refuseAtShutdown(claimed)
    if (!claimed && connection.isClosed()) return { refused: 'The encoder has left.' }
    if (!claimed) return refuse('Another encoder is sending to this live stream.')
    const { claim, broadcast } = claimed
    const { broadcasts } = this.#context
    broadcasts.get(claim.id)?.close()
    const live = await loadBroadcast(this.#context, broadcast)
    if (this.#closing.signal.aborted) return this.#refuseAtShutdown(claimed)
    broadcasts.set(claim.id, live)
    const owner = new BroadcastOwner(this.#context, {
      ...{ ...claimed, live, restreams: stream.restreams, connection },
      onUnsupported: (reason) => void refuse(reason),
    })
    this.#owners.add(owner)
    allowHeapGrowth(true)
    log.info(
      { liveStreamId: stream.id, broadcastId: claim.id, from: connection.remoteAddress },
      'live: encoder connected',
    )
    return { publisher: owner, onClose: () => this.#disconnect(owner) }
  }

  /**
   * Undefined if another encoder is sending: its owner renews the lease. The lease of an owner that was killed ends
   * within five seconds.
   */
  async #claim(stream: StoredLiveStream, { isClosed }: Connection): Promise<Claimed | 'deleted' | undefined> {
    let occupied: Occupied | undefined
    const isUseless = () => this.#closing.signal.aborted || isClosed()
    for (let waitedMs = 0; !isUseless(); waitedMs += claimRetryMs) {
      const abandoned = occupied && waitedMs >= renewalMs ? await this.#abandoned(occupied) : undefined
      const claimed = await this.#context.db
        .transaction()
        .execute((trx) => claimBroadcast(trx, stream, this.#ownerUrl, abandoned))
      if (!claimed) return 'deleted'
      if ('position' in claimed) return claimed
      if (occupied && claimed.leaseUntil > occupied.leaseUntil) return undefined
      occupied = claimed
      await delay(claimRetryMs)
    }
    return undefined
  }

  /** Undefined while the store is away: nobody knows which numbers viewers have seen. */
  async #abandoned(occupied: Occupied): Promise<Abandoned | undefined> {
    const { files, log } = this.#context
    try {
      return { ...occupied, reserved: await readReservedNumbers(files, occupied.claim) }
    } catch (err) {
      log.warn({ err, broadcastId: occupied.claim.id }, 'live: the numbers of a broadcast were not read')
      return undefined
    }
  }

  async #refuseAtShutdown(claimed: Claimed | undefined): Promise<PublishAnswer> {
    if (claimed) await setAway(this.#context.db, claimed.claim, claimed.position.next)
    return { refused: 'The server is shutting down.' }
  }

  #checkConnections(): void {
    for (const owner of this.#owners) owner.checkConnection()
  }

  async #disconnect(owner: BroadcastOwner): Promise<void> {
    await owner.disconnect()
    this.#owners.delete(owner)
    if (this.#owners.size === 0) allowHeapGrowth(false)
  }

  async #stored(liveStreamId: string): Promise<void> {
    const owners = [...this.#owners].filter(({ broadcast }) => broadcast.live_stream_id === liveStreamId)
    await Promise.all(owners.map(({ finished }) => finished))
  }

  async #repeatChecks(): Promise<void> {
    const { log } = this.#context
    while (!this.#closed.signal.aborted) {
      const wait = this.#wake.listen()
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
          log.warn({ err, broadcastId: owner.claim.id }, 'live: a lease was not renewed'),
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
