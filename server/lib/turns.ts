/** The time for all that share the turns, before everything else of this process gets its turn. */
const maxTurnMs = 4

/**
 * Shares the turns of the event loop. Bytes can take much longer to handle than to send: a read of 256 KiB may contain as
 * many messages. Whoever finds the turn over waits for another one, behind those that wait already.
 */
export class Turns {
  #endsAt: number | undefined
  readonly #waiting: (() => void)[] = []

  isOver(): boolean {
    this.#endsAt ??= this.#begin()
    return performance.now() >= this.#endsAt
  }

  /** Resolves in a later turn. */
  next(): Promise<void> {
    this.#endsAt ??= this.#begin()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #begin(): number {
    setImmediate(() => this.#end())
    return performance.now() + maxTurnMs
  }

  /** One of them continues in each turn. If all did, the first one would take the time of every turn. */
  #end(): void {
    const next = this.#waiting.shift()
    this.#endsAt = next && this.#begin()
    next?.()
  }
}
