import type { Socket } from 'node:net'

const maxPending = 1_000
const checkMs = 1_000
/** An encoder publishes in the first second. The checks are counted, because a busy machine is not the encoder's fault. */
const maxChecks = 30

/** Connections that have not published yet. They are few and do not last. */
export class PendingConnections {
  /** In the order of their arrival, with the number of checks that each has survived. */
  readonly #checks = new Map<Socket, number>()
  #timer: NodeJS.Timeout | undefined

  add(socket: Socket): void {
    this.#checks.set(socket, 0)
    socket.once('close', () => this.remove(socket))
    const [oldest] = this.#checks.keys()
    if (this.#checks.size > maxPending) oldest?.destroy()
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref()
  }

  remove(socket: Socket): void {
    this.#checks.delete(socket)
    if (this.#checks.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #check(): void {
    for (const [socket, checks] of this.#checks) {
      if (checks >= maxChecks) socket.destroy()
      else this.#checks.set(socket, checks + 1)
    }
  }
}
