import type { Socket } from 'node:net'
import { networkOf } from '../../../lib/network.ts'

const maxPending = 1_000
const maxPerNetwork = 250
const checkMs = 1_000
/** An encoder publishes in the first second. The checks are counted, because a busy machine is not the encoder's fault. */
const maxChecks = 30

type Pending = { key: string; network: string; socket: Socket; checks: number }

/** Connections that have not published yet, or that are ending. They are few and do not last. */
export class PendingConnections {
  /** By network, in the order of their arrival. */
  readonly #networks = new Map<string, Set<Pending>>()
  /** The socket of TLS and the one below it have the same key. */
  readonly #pending = new Map<string, Pending>()
  #timer: NodeJS.Timeout | undefined

  add(socket: Socket): void {
    const key = keyOf(socket)
    if (socket.destroyed || this.#pending.has(key)) return
    const pending = { key, network: networkOf(socket.remoteAddress ?? ''), socket, checks: 0 }
    this.#pending.set(key, pending)
    const ofNetwork = this.#networks.get(pending.network) ?? new Set()
    this.#networks.set(pending.network, ofNetwork.add(pending))
    socket.once('close', () => this.#delete(pending))
    if (ofNetwork.size > maxPerNetwork) this.#evictFrom(ofNetwork)
    else if (this.#pending.size > maxPending) this.#evictFrom(this.#largestNetwork())
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref()
  }

  remove(socket: Socket): void {
    const pending = this.#pending.get(keyOf(socket))
    if (pending) this.#delete(pending)
  }

  /** A network that opens many connections closes its own, not those of others. */
  #largestNetwork(): Set<Pending> {
    let largest = new Set<Pending>()
    for (const each of this.#networks.values()) if (each.size > largest.size) largest = each
    return largest
  }

  /**
   * Of the older half, closes the connection that has sent the least. An encoder begins its handshake at once, so idle
   * connections do not displace it even if they come from its own network.
   */
  #evictFrom(network: Set<Pending>): void {
    let evicted: { pending: Pending; bytes: number } | undefined
    let older = Math.ceil(network.size / 2)
    for (const pending of network) {
      const bytes = pending.socket.bytesRead
      if (!evicted || bytes < evicted.bytes) evicted = { pending, bytes }
      if (bytes === 0 || --older === 0) break
    }
    if (evicted) this.#destroy(evicted.pending)
  }

  #check(): void {
    for (const pending of this.#pending.values()) if (++pending.checks > maxChecks) this.#destroy(pending)
  }

  /** The socket is closed later. Until then, it must not be evicted again. */
  #destroy(pending: Pending): void {
    this.#delete(pending)
    pending.socket.destroy()
  }

  #delete(pending: Pending): void {
    if (this.#pending.get(pending.key) !== pending) return
    this.#pending.delete(pending.key)
    const ofNetwork = this.#networks.get(pending.network)
    ofNetwork?.delete(pending)
    if (ofNetwork?.size === 0) this.#networks.delete(pending.network)
    if (this.#pending.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
