import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { UnsupportedStream } from '../../../media/h264.ts'
import type { Link, Publisher } from '../publisher.ts'
import { type Decryption, WrongPassphrase } from './encryption.ts'
import { keyMessage } from './handshake.ts'
import { LinkMeter } from './link-meter.ts'
import {
  controlType,
  detailOf,
  distance,
  headerLength,
  maxPacketBytes,
  readDataHeader,
  subtypeOf,
  typeOf,
  writeControl,
  writeLossList,
} from './packets.ts'
import { ReceiveBuffer, windowPackets } from './receive-buffer.ts'
import { TsPublisher } from './ts-publisher.ts'

type Options = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  publisher: Publisher
  /** The sender's id of the connection. */
  peerId: number
  initialSequence: number
  latencyMs: number
  decryption: Decryption | undefined
  send(packet: Buffer): void
  /** The connection has ended, with a reason if it was ended because of what it sent. */
  onEnd(reason: string | undefined): void
  /** The connection is ended by an error of ours. */
  onError(error: unknown): void
}

/** The checks of a second, each one in about 10 ms. */
const checksPerSecond = 100
const maxSilentSeconds = 5
const minReportMs = 20
/**
 * libsrt acknowledges every 10 ms, and each one is confirmed. Senders only need to know when they can forget packets, which
 * they keep for a second at least. At 2.5 Mbit/s, the longer interval saves a third of all packets.
 */
const acknowledgeMs = 100
/** Before it is measured. */
const unknownRoundTripMs = 100
const maxUnacknowledged = 64
const maxRanges = (maxPacketBytes - headerLength) / 8
/** Encoders change keys after millions of packets. */
const maxKeyChanges = 100

/** The connection of an encoder after the handshake: requests what is missing, and hands on the rest. */
export class SrtConnection {
  readonly #options: Options
  readonly #buffer: ReceiveBuffer
  readonly #stream: TsPublisher
  readonly #meter: LinkMeter
  readonly #startedAt = performance.now()
  /** Packets in order that wait until the publisher can receive more. */
  #waiting: Buffer[] = []
  #isWaiting = false
  /** The encoder is gone. */
  #hasEnded = false
  /** Nothing more is published. */
  #isFinished = false
  #checks = 0
  #silentSeconds = 0
  #hasReceived = true
  #hasSent = true
  #acknowledgements = 0
  /** The times of acknowledgements that the encoder has not confirmed yet, by number. */
  readonly #unconfirmed = new Map<number, { sentAt: number; next: number }>()
  #acknowledged: number
  #confirmed: number
  #acknowledgedAtMs = 0
  #keyChanges = 0

  constructor(options: Options) {
    const { publisher, initialSequence: first, latencyMs, tools, log } = options
    this.#options = options
    const onFailure = (reason: string) => this.close(reason)
    this.#stream = new TsPublisher(publisher, { tools, log, onFailure })
    this.#meter = new LinkMeter(latencyMs)
    this.#buffer = new ReceiveBuffer({ first, latencyMs, onPacket: (payload) => this.#queue(payload) })
    this.#acknowledged = first
    this.#confirmed = first
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  link(): { link: Link; problem: string | undefined } {
    return this.#meter.read(this.#buffer)
  }

  receiveData(packet: Buffer, nowMs: number): void {
    if (this.#hasEnded) return
    this.#hasReceived = true
    // The sender repeats what is not acknowledged.
    if (this.#freePackets <= 0) return
    const { sequence, key, isRetransmitted } = readDataHeader(packet)
    const payload = packet.subarray(headerLength)
    const { decryption } = this.#options
    // Packets without encryption, or with keys that never arrived, are lost for us.
    const isReadable = (key === 0) === (decryption === undefined)
    const plain = !isReadable ? undefined : decryption ? decryption.decrypt(payload, key, sequence) : payload
    if (!plain) return
    if (isRetransmitted) this.#meter.retransmitted++
    const missing = this.#buffer.receive(sequence, plain, nowMs)
    if (missing) this.#send(controlType.lossReport, { body: writeLossList([missing]) })
  }

  receiveControl(packet: Buffer): void {
    if (this.#hasEnded) return
    this.#hasReceived = true
    switch (typeOf(packet)) {
      case controlType.shutdown:
        this.#end()
        return
      case controlType.acknowledged:
        this.#confirm(detailOf(packet))
        return
      case controlType.dropRequest:
        this.#drop(packet)
        return
      case controlType.extension:
        if (subtypeOf(packet) === keyMessage.request) void this.#changeKeys(packet.subarray(headerLength))
        return
      default:
        // A keep-alive has no content. The others are for senders.
        return
    }
  }

  /** Called about every 10 ms. The time does not pass faster than that, so that a busy machine loses no packets. */
  check(nowMs: number): void {
    if (this.#hasEnded) return
    if (this.#buffer.isMissingAny) {
      this.#buffer.expire(nowMs)
      this.#reportMissing(nowMs)
    }
    if (nowMs - this.#acknowledgedAtMs >= acknowledgeMs) this.#acknowledge(nowMs)
    if (++this.#checks % checksPerSecond === 0) this.#checkSecond()
  }

  /** Tells the encoder that the connection is over. What still waits is discarded. */
  close(reason?: string): void {
    if (!this.#hasEnded) this.#send(controlType.shutdown)
    this.#hasEnded = true
    this.#finish(reason)
  }

  /** The encoder has ended the connection, or is gone. What it has sent is published. */
  #end(): void {
    this.#hasEnded = true
    if (!this.#isWaiting) this.#finish()
  }

  #finish(reason?: string): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#waiting = []
    this.#tryPublish(() => this.#stream.end())
    this.#options.onEnd(reason)
  }

  get #freePackets(): number {
    return windowPackets - this.#waiting.length - this.#buffer.heldPackets
  }

  #checkSecond(): void {
    this.#meter.check(this.#buffer)
    this.#silentSeconds = this.#hasReceived ? 0 : this.#silentSeconds + 1
    this.#hasReceived = false
    if (this.#silentSeconds >= maxSilentSeconds) {
      this.#send(controlType.shutdown)
      this.#end()
    } else if (!this.#hasSent) this.#send(controlType.keepAlive)
    this.#hasSent = false
  }

  #reportMissing(nowMs: number): void {
    const { roundTripMs = unknownRoundTripMs, roundTripDeviationMs } = this.#meter
    const intervalMs = Math.max(minReportMs, roundTripMs + 2 * roundTripDeviationMs)
    const ranges = this.#buffer.unreported(nowMs, intervalMs, maxRanges)
    if (ranges.length > 0) this.#send(controlType.lossReport, { body: writeLossList(ranges) })
  }

  #acknowledge(nowMs: number): void {
    const { roundTripMs = unknownRoundTripMs, roundTripDeviationMs } = this.#meter
    const { next } = this.#buffer
    const isKnown = next === this.#confirmed
    const repeatMs = roundTripMs + 4 * roundTripDeviationMs
    const isPending = next === this.#acknowledged && nowMs - this.#acknowledgedAtMs < repeatMs
    if (isKnown || isPending) return
    this.#acknowledged = next
    this.#acknowledgedAtMs = nowMs
    const number = ++this.#acknowledgements % 2 ** 31
    this.#unconfirmed.set(number, { sentAt: performance.now(), next })
    if (this.#unconfirmed.size > maxUnacknowledged)
      this.#unconfirmed.delete(this.#unconfirmed.keys().next().value!)
    const body = Buffer.alloc(16)
    body.writeUInt32BE(next, 0)
    body.writeUInt32BE(Math.round(1_000 * roundTripMs), 4)
    body.writeUInt32BE(Math.round(1_000 * roundTripDeviationMs), 8)
    // libsrt does not expect 0 or 1.
    body.writeUInt32BE(Math.max(2, this.#freePackets), 12)
    this.#send(controlType.acknowledge, { detail: number, body })
  }

  #confirm(number: number): void {
    const confirmed = this.#unconfirmed.get(number)
    if (!confirmed) return
    this.#meter.measureRoundTrip(performance.now() - confirmed.sentAt)
    if (distance(this.#confirmed, confirmed.next) > 0) this.#confirmed = confirmed.next
    for (const each of this.#unconfirmed.keys()) {
      this.#unconfirmed.delete(each)
      if (each === number) break
    }
  }

  #drop(packet: Buffer): void {
    if (packet.length < headerLength + 8) return
    const [first, last] = [packet.readUInt32BE(headerLength), packet.readUInt32BE(headerLength + 4)]
    this.#buffer.drop({ first: first & 0x7fffffff, last: last & 0x7fffffff })
  }

  async #changeKeys(message: Buffer): Promise<void> {
    const { decryption } = this.#options
    if (!decryption || ++this.#keyChanges > maxKeyChanges) return
    try {
      await decryption.addKeys(message)
      if (!this.#hasEnded) this.#send(controlType.extension, { subtype: keyMessage.response, body: message })
    } catch (error) {
      if (!(error instanceof WrongPassphrase)) this.#options.onError(error)
      this.close((error as Error).message)
    }
  }

  #queue(payload: Buffer): void {
    if (this.#isWaiting) this.#waiting.push(payload)
    else this.#publish(payload)
  }

  #publish(payload: Buffer): void {
    const { publisher } = this.#options
    if (this.#isFinished || publisher.isOver) return
    this.#tryPublish(() => this.#stream.receive(payload))
    const drained = publisher.drain?.()
    if (!drained) return
    this.#isWaiting = true
    void drained.then(() => this.#publishWaiting())
  }

  #publishWaiting(): void {
    this.#isWaiting = false
    let published = 0
    while (published < this.#waiting.length && !this.#isWaiting) this.#publish(this.#waiting[published++]!)
    this.#waiting = this.#waiting.slice(published)
    if (this.#hasEnded && !this.#isWaiting) this.#finish()
  }

  #tryPublish(publish: () => void): void {
    try {
      publish()
    } catch (error) {
      if (!(error instanceof UnsupportedStream)) this.#options.onError(error)
      this.close((error as Error).message)
    }
  }

  #send(type: number, rest: { subtype?: number; detail?: number; body?: Buffer } = {}): void {
    this.#hasSent = true
    const timestamp = 1_000 * (performance.now() - this.#startedAt)
    this.#options.send(writeControl({ type, timestamp, destination: this.#options.peerId, ...rest }))
  }
}
