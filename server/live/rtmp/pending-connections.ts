import type { Socket } from 'node:net'

const maxPending = 1_000
const checkMs = 1_000
/** An encoder publishes in the first second. The checks are counted, because a busy machine is not the encoder's fault. */
const maxChecks = 30

type Pending = { socket: Socket; checks: number }

/** Connections that have not published yet, or that are ending. They are few and do not last. */
export class PendingConnections {
  /** In the order of their arrival. The socket of TLS and the one below it have the same key. */
  readonly #pending = new Map<string, Pending>()
  #timer: NodeJS.Timeout | undefined

  add(socket: Socket): void {
    if (socket.destroyed) return
    const key = keyOf(socket)
    if (this.#pending.has(key)) return
    this.#pending.set(key, { socket, checks: 0 })
    socket.once('close', () => this.#delete(key))
    const [oldest] = this.#pending
    if (this.#pending.size > maxPending && oldest) this.#destroy(...oldest)
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref()
  }

  remove(socket: Socket): void {
    this.#delete(keyOf(socket))
  }

  #check(): void {
    for (const [key, pending] of this.#pending) if (++pending.checks > maxChecks) this.#destroy(key, pending)
  }

  /** The socket is closed later. Until then, it must not be taken for the oldest again. */
  #destroy(key: string, { socket }: Pending): void {
    this.#delete(key)
    socket.destroy()
  }

  #delete(key: string): void {
    this.#pending.delete(key)
    if (this.#pending.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
