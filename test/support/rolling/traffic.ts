import { setTimeout as delay } from 'node:timers/promises'

/** Something that a client does again and again. A throw is a failure. */
export type Operations = Record<string, () => Promise<unknown>>

/** Clients that repeat operations, each one after the other, until they are stopped. */
export class Traffic {
  /** How often each operation has succeeded. */
  readonly counts: Record<string, number> = {}
  readonly failures: string[] = []
  readonly #stopping = new AbortController()
  readonly #clients: Promise<void>[]

  constructor(operations: Operations) {
    this.#clients = Object.entries(operations).map(([name, operation]) => this.#repeat(name, operation))
  }

  async #repeat(name: string, operation: () => Promise<unknown>): Promise<void> {
    this.counts[name] = 0
    while (!this.#stopping.signal.aborted) {
      try {
        await operation()
        this.counts[name]++
      } catch (error) {
        const { message, cause } = error as Error
        this.failures.push(`${name}: ${message}${cause ? ` (${(cause as Error).message})` : ''}`)
        await delay(100)
      }
    }
  }

  /** The number of rounds that the slowest operation has completed. A failure counts, too. */
  get rounds(): number {
    return Math.min(...Object.values(this.counts)) + this.failures.length
  }

  /** Waits for the operations in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#clients)
  }
}
