import { randomBytes, timingSafeEqual } from 'node:crypto'
import { UnsupportedStream } from '../../../media/h264.ts'
import { ArrivalLog } from '../../webrtc/arrival-log.ts'
import type { DtlsConnection, DtlsContext, SrtpKeys } from '../../webrtc/dtls.ts'
import {
  readRtcp,
  writeArrivals,
  writeNack,
  writePictureLoss,
  writeReceiverReport,
} from '../../webrtc/rtcp.ts'
import { isRtcp, type RtpPacket, readRtp } from '../../webrtc/rtp.ts'
import type { Offer, Track } from '../../webrtc/sdp.ts'
import { SrtcpSender, SrtpReceiver } from '../../webrtc/srtp.ts'
import { type BindingRequest, hasIntegrity, writeBindingResponse } from '../../webrtc/stun.ts'
import { TrackReceiver } from '../../webrtc/track-receiver.ts'
import type { Connection, Publish } from '../publisher.ts'
import { LinkMeter } from './link-meter.ts'
import { WhipMedia, type WhipMediaOptions } from './media.ts'
import type { Peer } from './tcp-server.ts'

/** From the offer to the first packet. */
const maxConnectMs = 20_000
const arrivalsMs = 80
const reportsMs = 1_000
const dtlsTickMs = 250
/** Before the handshake is complete, an answer must not be much longer than what was received. */
const maxAmplification = 3
const ours = 1

export type SessionOptions = Pick<WhipMediaOptions, 'tools' | 'log'> & {
  id: string
  offer: Offer
  streamKey: string
  environment: string
  dtls: DtlsContext
  publish: Publish
  onEnded(reason: string | undefined): void
  onError(error: unknown): void
}

/** One encoder that sends over WebRTC: its connection, and what is received on it. */
export class WhipSession {
  readonly id: string
  readonly streamKey: string
  readonly environment: string
  readonly ufrag = randomBytes(6).toString('base64url')
  readonly password = randomBytes(24).toString('base64url')
  readonly #options: SessionOptions
  /** Created for the first datagram: until then, a session takes little memory. */
  #dtls: DtlsConnection | undefined
  readonly #receivers: TrackReceiver[]
  readonly #arrivals = new ArrivalLog()
  readonly #meter = new LinkMeter()
  readonly #startedMs = performance.now()
  #remote: Peer | undefined
  #received = 0
  #sent = 0
  #srtp: { receiver: SrtpReceiver; sender: SrtcpSender } | undefined
  #media: WhipMedia | undefined
  #onClose: (() => Promise<void>) | undefined
  #isClosed = false
  #lastMs = { arrivals: 0, reports: 0, dtls: 0, packet: performance.now() }

  constructor(options: SessionOptions) {
    this.#options = options
    this.id = options.id
    this.streamKey = options.streamKey
    this.environment = options.environment
    const tracks = options.offer.sections.flatMap(({ track }) => (track ? [track] : []))
    this.#receivers = tracks.map((track) => new TrackReceiver({ track, onPacket: this.#deliverTo(track) }))
  }

  /** A check of ICE came from its address. */
  get isProven(): boolean {
    return this.#remote !== undefined
  }

  get isConnected(): boolean {
    return this.#srtp !== undefined
  }

  /** Its stream key was accepted after that. */
  get isPublishing(): boolean {
    return this.#media !== undefined
  }

  /** How long nothing has been received. */
  get silentMs(): number {
    return performance.now() - this.#lastMs.packet
  }

  /** Answers a check of ICE. True if it is authentic: its address belongs to this session from now on. */
  check(request: BindingRequest, from: Peer): boolean {
    const expected = Buffer.from(`${this.ufrag}:${this.#options.offer.ufrag}`)
    const actual = Buffer.from(request.username, 'latin1')
    const isKnown = actual.length === expected.length && timingSafeEqual(actual, expected)
    if (this.#isClosed || !isKnown || !hasIntegrity(request, this.password)) return false
    from.send(writeBindingResponse(request.transaction, from, this.password))
    // The encoder may move to another network.
    if (request.useCandidate || !this.#remote) this.#remote = from
    this.#lastMs.packet = performance.now()
    return true
  }

  /** A datagram from an address of this session that is no check. */
  receive(bytes: Buffer, nowMs: number): void {
    if (this.#isClosed || bytes.length === 0) return
    this.#received += bytes.length
    this.#lastMs.packet = nowMs
    const first = bytes[0]!
    if (first >= 20 && first <= 63) this.#receiveDtls(bytes)
    else if (first >= 128 && first <= 191) this.#receiveSrtp(bytes, nowMs)
  }

  /** Called every few milliseconds. */
  tick(nowMs: number): void {
    if (this.#isClosed) return
    if (!this.#srtp && nowMs - this.#startedMs > maxConnectMs) {
      this.#end('The encoder did not connect. Its UDP packets may be blocked.')
      return
    }
    if (nowMs - this.#lastMs.dtls >= dtlsTickMs) {
      this.#lastMs.dtls = nowMs
      this.#dtls?.tick()
    }
    if (!this.#srtp) return
    this.#guard(() => {
      for (const receiver of this.#receivers) {
        receiver.queue.deliver(nowMs)
        this.#request(receiver, nowMs)
      }
      this.#media?.tick(nowMs)
    })
    if (nowMs - this.#lastMs.arrivals >= arrivalsMs) this.#reportArrivals(nowMs)
    if (nowMs - this.#lastMs.reports >= reportsMs) this.#report(nowMs)
  }

  /** Tells the encoder that it is over. */
  close(): void {
    this.#end(undefined)
  }

  #receiveDtls(bytes: Buffer): void {
    const { dtls, offer } = this.#options
    this.#dtls ??= dtls.accept({
      fingerprint: offer.fingerprint,
      send: (datagram) => this.#sendUnproven(datagram),
      onConnected: (keys) => this.#connect(keys),
      onClosed: (reason) => this.#end(reason),
    })
    this.#dtls.receive(bytes)
  }

  #connect({ receive, send }: { receive: SrtpKeys; send: SrtpKeys }): void {
    this.#srtp = { receiver: new SrtpReceiver(receive), sender: new SrtcpSender(send) }
    this.#publish().catch((error) => {
      this.#options.onError(error)
      this.#end(undefined)
    })
  }

  async #publish(): Promise<void> {
    const { publish, streamKey, log, tools, offer } = this.#options
    const connection: Connection = {
      protocol: 'whip',
      remoteAddress: this.#remote?.address ?? '',
      isClosed: () => this.#isClosed,
      close: () => this.close(),
      // Packets of both sides flow all the time.
      probe: () => {},
      link: () => {
        const { link, problem } = this.#meter.read(this.#receivers)
        return { link, problem: this.#media?.problem ?? problem }
      },
    }
    const answer = await publish(streamKey, connection)
    if ('refused' in answer) return this.#end(answer.refused)
    if (this.#isClosed) return void (await answer.onClose?.())
    this.#onClose = answer.onClose
    this.#media = new WhipMedia({
      tools,
      log,
      publisher: answer.publisher,
      tracks: offer.sections.flatMap(({ track }) => (track ? [track] : [])),
      timeOf: (kind, timestamp) => this.#timeOf(kind, timestamp),
      requestKeyFrame: () => this.#requestKeyFrame(),
      onFailure: (reason) => this.#end(reason),
    })
  }

  #deliverTo({ kind }: Track) {
    return (packet: RtpPacket, isAfterGap: boolean) => {
      if (kind === 'video') this.#media?.video(packet, isAfterGap)
      else this.#media?.audio(packet)
    }
  }

  #timeOf(kind: Track['kind'], timestamp: number): number {
    const receiver = this.#receivers.find(({ track }) => track.kind === kind)
    return Math.round(receiver?.clock.read(timestamp, performance.now()) ?? 0)
  }

  #receiveSrtp(bytes: Buffer, nowMs: number): void {
    const packet = this.#srtp?.receiver.receive(bytes)
    if (!packet) return
    if (isRtcp(packet)) this.#receiveRtcp(packet, nowMs)
    else this.#guard(() => this.#receiveRtp(packet, nowMs))
  }

  #receiveRtp(bytes: Buffer, nowMs: number): void {
    const transportId = this.#receivers.find(({ track }) => track.transportId !== undefined)?.track
      .transportId
    const packet = readRtp(bytes, transportId)
    if (!packet) return
    if (packet.transportSequence !== undefined) this.#arrivals.add(packet.transportSequence, nowMs * 1000)
    const receiver = this.#receivers.find(
      ({ track }) =>
        track.payloadType === packet.payloadType || track.retransmissionType === packet.payloadType,
    )
    receiver?.receive(packet, nowMs)
  }

  #receiveRtcp(bytes: Buffer, nowMs: number): void {
    for (const message of readRtcp(bytes)) {
      if (message.kind === 'goodbye') continue
      const receiver = this.#receivers.find(({ ssrc }) => ssrc === message.report.ssrc)
      receiver?.onSenderReport(message.report, nowMs)
    }
    const [video, audio] = (['video', 'audio'] as const).map((kind) =>
      this.#receivers.find(({ track }) => track.kind === kind),
    )
    if (video && audio) audio.clock.follow(video.clock)
  }

  #request(receiver: TrackReceiver, nowMs: number): void {
    const sequences = receiver.takeRequests(nowMs)
    if (sequences.length > 0 && receiver.ssrc !== undefined)
      this.#sendRtcp(writeNack(ours, receiver.ssrc, sequences.slice(0, 200)))
  }

  #requestKeyFrame(): void {
    const video = this.#receivers.find(({ track }) => track.kind === 'video')
    if (video?.ssrc !== undefined && video.track.hasPictureLoss)
      this.#sendRtcp(writePictureLoss(ours, video.ssrc))
  }

  #reportArrivals(nowMs: number): void {
    this.#lastMs.arrivals = nowMs
    const ssrc = this.#receivers.find((each) => each.ssrc !== undefined)?.ssrc
    if (ssrc === undefined) return
    for (const arrivals of this.#arrivals.take(nowMs * 1000))
      this.#sendRtcp(writeArrivals(ours, ssrc, arrivals))
  }

  #report(nowMs: number): void {
    this.#lastMs.reports = nowMs
    const reports = this.#receivers.flatMap((receiver) => receiver.report(nowMs) ?? [])
    this.#meter.add(this.#receivers)
    this.#sendRtcp(writeReceiverReport(ours, reports))
  }

  /** Every packet begins with a report, as RFC 3550 wants it. */
  #sendRtcp(packet: Buffer): void {
    if (!this.#srtp || !this.#remote) return
    const isReport = packet[1] === 201
    const compound = isReport ? packet : Buffer.concat([writeReceiverReport(ours, []), packet])
    this.#remote.send(this.#srtp.sender.protect(compound))
  }

  #sendUnproven(datagram: Buffer): void {
    if (!this.#remote) return
    this.#sent += datagram.length
    if (this.isConnected || this.#sent <= maxAmplification * this.#received + 1_500)
      this.#remote.send(datagram)
  }

  /** What the encoder sends ends its own session only. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof UnsupportedStream)) this.#options.onError(error)
      this.#end((error as Error).message)
    }
  }

  #end(reason: string | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#dtls?.close()
    try {
      this.#media?.close()
    } catch (error) {
      if (!(error instanceof UnsupportedStream)) this.#options.onError(error)
    }
    this.#options.onEnded(reason)
    void this.#onClose?.().catch(this.#options.onError)
  }
}
