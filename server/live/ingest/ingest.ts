import { setTimeout as delay } from 'node:timers/promises'
import { createSelfSigned } from '../../certificates/acme/x509.ts'
import { formatTime } from '../../lib/time.ts'
import type { TlsCertificate } from '../../lib/tls-certificate.ts'
import { findByStreamKey, recordRefusal, type StoredLiveStream } from '../../live-streams/store.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { encoderConnections } from '../metrics.ts'
import type { LadderBudget } from '../output/ladder/budget.ts'
import { loadBroadcast } from '../state/load-broadcast.ts'
import { readReservedNumbers } from '../state/number-reservation.ts'
import {
  type Abandoned,
  type Claimed,
  claimBroadcast,
  findLease,
  type Occupied,
  setAway,
} from '../state/store.ts'
import { BroadcastOwner } from './broadcast-owner.ts'
import { Owners, type OwnersContext } from './owners.ts'
import type {
  Admit,
  Connection,
  IngestServer,
  Publish,
  PublishAnswer,
  Refusal,
  Refused,
} from './publisher.ts'
import { RefusalLog } from './refusal-log.ts'
import { listenForRtmp } from './rtmp/server.ts'
import { listenForSrt } from './srt/server.ts'
import { announceMs, announceReceiver, removeReceiver } from './whip/receiver-store.ts'
import { WhipServer } from './whip/server.ts'

type IngestPorts = { rtmp: number; rtmps: number | undefined; srt: number; webrtc: number | undefined }

const claimRetryMs = 500
/** An owner that has not renewed its lease in this time is gone. After an outage of the database, all leases are over. */
const renewalMs = 2_500
/** An owner renews its lease every second. An encoder is not kept waiting for longer before it connects. */
const maxAdmitMs = 1_500
const unknownKey = { refused: 'The stream key is unknown.', kind: 'unauthorized' } as const
const occupied = { refused: 'Another encoder is sending to this live stream.', kind: 'occupied' } as const

export type IngestContext = OwnersContext & { tools: Pick<Tools, 'ffmpeg'>; budget: LadderBudget }

/** Receives broadcasts over all protocols. Runs in processes with the role `live`. */
export class Ingest {
  readonly #context: IngestContext
  readonly #ownerUrl: string
  readonly #owners: Owners
  readonly #servers: IngestServer[] = []
  readonly #refusals: RefusalLog
  #whip: WhipServer | undefined
  #announcements: NodeJS.Timeout | undefined
  /** No more encoders are accepted. */
  readonly #closing = new AbortController()

  constructor(context: IngestContext, ownerUrl: string) {
    this.#context = context
    this.#ownerUrl = ownerUrl
    this.#owners = new Owners(context)
    this.#refusals = new RefusalLog(context.log)
  }

  /** Returns the ports. */
  async open(tls: TlsCertificate | undefined): Promise<IngestPorts> {
    const { config, log, tools } = this.#context
    const { host, rtmpPort, rtmpsPort, srtPort: port, srtLatencyMs: latencyMs } = config
    const rtmp = await this.#listen(listenForRtmp({ ...this.#options, host, port: rtmpPort }))
    const rtmps = tls && (await this.#listen(listenForRtmp({ ...this.#options, host, port: rtmpsPort, tls })))
    const srt = await this.#listen(listenForSrt({ ...this.#options, tools, log, host, port, latencyMs }))
    this.#whip = await this.#openWhip()
    this.#owners.open()
    return { rtmp, rtmps, srt, webrtc: this.#whip?.port }
  }

  /** Undefined if it is turned off, or impossible on this system. */
  get whip(): WhipServer | undefined {
    return this.#whip
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#announcements)
    if (this.#whip) await removeReceiver(this.#context.db, this.#whip.id).catch(() => {})
    for (const server of this.#servers) server.close()
    await this.#owners.close()
  }

  /** What all protocols get. */
  get #options() {
    const { log } = this.#context
    return {
      publish: this.#publish,
      onRefused: (reason: string) => this.#refusals.add(reason),
      onError: (err: unknown) => log.error({ err }, 'live: a connection failed'),
    }
  }

  async #listen(listening: Promise<IngestServer>): Promise<number> {
    const server = await listening
    this.#servers.push(server)
    return server.port
  }

  async #openWhip(): Promise<WhipServer | undefined> {
    const { config, log, now, tools } = this.#context
    if (config.webrtcPort === undefined) return undefined
    const server = await WhipServer.open({
      ...this.#options,
      host: config.host,
      port: config.webrtcPort,
      tcpPort: config.webrtcTcpPort,
      addresses: config.webrtcAddresses,
      publicHost: config.publicUrl && new URL(config.publicUrl).hostname,
      // Encoders compare it with the fingerprint in our answer.
      certificate: createSelfSigned(['kinora'], now()),
      tools,
      log,
      admit: this.#admit,
    })
    if (!server)
      log.warn('live: encoders cannot connect over WebRTC, because OpenSSL cannot be called on this system')
    if (!server) return undefined
    this.#servers.push(server)
    await this.#announce(server)
    this.#announcements = setInterval(() => void this.#announce(server), announceMs)
    return server
  }

  /** Without the database, other processes do not find this one, which matters for new encoders only. */
  async #announce({ id }: WhipServer): Promise<void> {
    const { db, log } = this.#context
    await announceReceiver(db, { id, url: this.#ownerUrl }).catch((err) =>
      log.debug({ err }, 'live: the receiver of WebRTC could not be announced'),
    )
  }

  readonly #publish: Publish = async (streamKey, connection, verify) => {
    const { db, log, metrics } = this.#context
    const stream = await findByStreamKey(db, streamKey)
    if (!stream) return unknownKey
    const refuse = (reason: string, kind: Refusal) => this.#refuse(stream, { refused: reason, kind })
    const problem = await verify?.(stream.srt_passphrase)
    if (problem !== undefined) return refuse(problem, 'unauthorized')
    // The encoder may return before everything of its last connection is stored.
    await this.#owners.stored(stream.id)
    const claimed = await this.#claim(stream, connection)
    if (claimed === 'deleted') return unknownKey
    if (this.#closing.signal.aborted) return this.#refuseAtShutdown(claimed)
    if (!claimed && connection.isClosed()) return { refused: 'The encoder disconnected.', kind: 'closing' }
    if (!claimed) return this.#refuse(stream, occupied)
    const { claim, broadcast } = claimed
    const { broadcasts } = this.#context
    broadcasts.get(claim.id)?.close()
    const live = await loadBroadcast(this.#context, broadcast)
    if (this.#closing.signal.aborted) return this.#refuseAtShutdown(claimed)
    broadcasts.set(claim.id, live)
    const owner = new BroadcastOwner(this.#context, {
      ...claimed,
      live,
      restreams: stream.restreams,
      connection,
      onUnsupported: (reason) => void refuse(reason, 'unauthorized'),
    })
    this.#owners.add(owner)
    metrics.count(encoderConnections, { kind: claim.fence === 1 ? 'started' : 'resumed' })
    log.info(
      { liveStreamId: stream.id, broadcastId: claim.id, from: connection.remoteAddress },
      'live: encoder connected',
    )
    return { publisher: owner, onClose: () => this.#owners.disconnect(owner) }
  }

  readonly #admit: Admit = async (streamKey) => {
    const stream = await findByStreamKey(this.#context.db, streamKey)
    if (!stream) return unknownKey
    await this.#owners.stored(stream.id)
    return (await this.#isSending(stream)) ? this.#refuse(stream, occupied) : stream
  }

  /** Whether an owner renews the lease. One that was killed does not, and its encoder returns. */
  async #isSending({ id }: StoredLiveStream): Promise<boolean> {
    const { db } = this.#context
    const before = await findLease(db, id)
    for (let waitedMs = 0; before && waitedMs < maxAdmitMs; waitedMs += claimRetryMs) {
      await delay(claimRetryMs)
      const now = await findLease(db, id)
      if (!now) return false
      if (now > before) return true
    }
    return false
  }

  async #refuse({ id }: StoredLiveStream, refusal: Refused): Promise<Refused> {
    const { db, log, now } = this.#context
    await recordRefusal(db, id, { at: formatTime(now()), reason: refusal.refused }).catch((err) =>
      log.warn({ err, liveStreamId: id }, 'live: a rejected connection could not be recorded'),
    )
    return refusal
  }

  /**
   * Undefined if another encoder is sending: its owner renews the lease. The lease of an owner that was killed ends
   * within five seconds.
   */
  async #claim(stream: StoredLiveStream, { isClosed }: Connection): Promise<Claimed | 'deleted' | undefined> {
    let owned: Occupied | undefined
    const isUseless = () => this.#closing.signal.aborted || isClosed()
    for (let waitedMs = 0; !isUseless(); waitedMs += claimRetryMs) {
      const abandoned = owned && waitedMs >= renewalMs ? await this.#abandoned(owned) : undefined
      const claimed = await this.#context.db
        .transaction()
        .execute((trx) => claimBroadcast(trx, stream, this.#ownerUrl, abandoned))
      if (!claimed) return 'deleted'
      if ('position' in claimed) return claimed
      if (owned && claimed.leaseUntil > owned.leaseUntil) return undefined
      owned = claimed
      await delay(claimRetryMs)
    }
    return undefined
  }

  /** Undefined while the store is unavailable: nobody knows which numbers viewers have seen. */
  async #abandoned(owned: Occupied): Promise<Abandoned | undefined> {
    const { files, log } = this.#context
    try {
      return { ...owned, reserved: await readReservedNumbers(files, owned.claim) }
    } catch (err) {
      log.warn({ err, broadcastId: owned.claim.id }, 'live: the numbers of a broadcast could not be read')
      return undefined
    }
  }

  async #refuseAtShutdown(claimed: Claimed | undefined): Promise<PublishAnswer> {
    if (claimed) await setAway(this.#context.db, claimed.claim, claimed.position.next)
    return { refused: 'The server is shutting down.', kind: 'closing' }
  }
}
