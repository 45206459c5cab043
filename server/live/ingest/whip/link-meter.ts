import type { TrackReceiver } from '../../webrtc/track-receiver.ts'
import type { Link } from '../publisher.ts'

const windowSeconds = 10
const badLoss = 0.02

type Counts = { received: number; retransmitted: number; lost: number }

/** Measures what a connection loses. */
export class LinkMeter {
  /** Since the beginning, one a second, the oldest first. */
  readonly #history: Counts[] = []

  /** Called once a second. */
  add(receivers: TrackReceiver[]): void {
    this.#history.push(count(receivers))
    if (this.#history.length > windowSeconds) this.#history.shift()
  }

  read(receivers: TrackReceiver[]): { link: Link; problem: string | undefined } {
    const now = count(receivers)
    const before = this.#history[0] ?? { received: 0, retransmitted: 0, lost: 0 }
    const missed = now.retransmitted + now.lost - before.retransmitted - before.lost
    const packets = now.received + now.lost - before.received - before.lost
    const packetLoss = packets > 0 ? Math.min(1, missed / packets) : 0
    const isLosing = now.lost > before.lost && packetLoss > badLoss
    const [roundTripMs] = receivers.flatMap(({ queue }) => queue.roundTripMs ?? [])
    return {
      link: {
        roundTrip: roundTripMs === undefined ? null : Math.round(roundTripMs) / 1000,
        packetLoss: Math.round(packetLoss * 10_000) / 10_000,
        retransmittedPackets: now.retransmitted,
        lostPackets: now.lost,
      },
      problem: isLosing
        ? `The network loses ${Math.round(packetLoss * 100)} % of the packets, and some arrive too late. Lower the bitrate or use a better connection.`
        : undefined,
    }
  }
}

function count(receivers: TrackReceiver[]): Counts {
  const sum = (of: (receiver: TrackReceiver) => number) =>
    receivers.reduce((total, each) => total + of(each), 0)
  return {
    received: sum(({ queue }) => queue.received),
    retransmitted: sum(({ queue }) => queue.retransmitted),
    lost: sum(({ queue }) => queue.lost),
  }
}
