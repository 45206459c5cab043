import type { Link } from '../publisher.ts'

const windowChecks = 10
/** Fewer are not worth a sentence. */
const minLost = 3
const heavyLoss = 0.1

type Counts = { expected: number; late: number; lost: number }

const nothing: Counts = { expected: 0, late: 0, lost: 0 }

/** Measures what a connection loses. */
export class LinkMeter {
  readonly #latencyMs: number
  /** The counts of the last checks, one in each second, the oldest first. */
  #history: Counts[] = [nothing]
  retransmitted = 0
  /** In milliseconds, smoothed as TCP does it. Undefined until it is measured. */
  roundTripMs: number | undefined
  roundTripDeviationMs = 0

  constructor(latencyMs: number) {
    this.#latencyMs = latencyMs
  }

  measureRoundTrip(measuredMs: number): void {
    const average = this.roundTripMs ?? measuredMs
    const deviation = Math.abs(measuredMs - average)
    this.roundTripDeviationMs =
      this.roundTripMs === undefined ? measuredMs / 2 : (3 * this.roundTripDeviationMs + deviation) / 4
    this.roundTripMs = (7 * average + measuredMs) / 8
  }

  /** Called once a second. */
  check({ expected, late, lost }: Counts): void {
    this.#history.push({ expected, late, lost })
    if (this.#history.length > windowChecks + 1) this.#history.shift()
  }

  read(now: Counts): { link: Link; problem: string | undefined } {
    const before = this.#history[0] ?? nothing
    const recent = {
      expected: now.expected - before.expected,
      late: now.late - before.late,
      lost: now.lost - before.lost,
    }
    const packetLoss = recent.expected > 0 ? recent.late / recent.expected : 0
    const link = {
      roundTrip: this.roundTripMs === undefined ? null : Math.round(this.roundTripMs * 10) / 10_000,
      packetLoss: Math.round(packetLoss * 10_000) / 10_000,
      retransmittedPackets: this.retransmitted,
      lostPackets: now.lost,
    }
    return { link, problem: recent.lost < minLost ? undefined : this.#problem(recent.lost, packetLoss) }
  }

  /** A packet can be sent again two or three times within four round trips. */
  #problem(lost: number, packetLoss: number): string {
    const neededMs = 10 * Math.ceil((4 * (this.roundTripMs ?? 0)) / 10)
    const count = `${lost} packets of the last ten seconds did not arrive in time`
    if (neededMs > this.#latencyMs)
      return `${count}. Set the latency of the encoder to ${neededMs} ms or more.`
    const share = Math.round(100 * packetLoss)
    if (packetLoss >= heavyLoss)
      return `${count}: the network loses ${share} % of them. Lower the bit rate of the encoder, or use another network.`
    return `${count}. Set the latency of the encoder to ${2 * this.#latencyMs} ms, or lower its bit rate.`
  }
}
