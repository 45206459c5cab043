type Waiter = { subject: string; start(): void }

/**
 * Lets up to `maxRunning` functions run at once. A free slot goes to the subject that has the fewest running, so that
 * one client with many requests does not keep out the others. Equal subjects are served in order of arrival.
 */
export class FairSlots {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #running = new Map<string, number>()
  readonly #waiting: Waiter[] = []
  #taken = 0

  constructor({ maxRunning, maxWaiting }: { maxRunning: number; maxWaiting: number }) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /**
   * Returns whether the subject has got a slot, which it must release. It gets none if too many wait, if it has waited
   * for `waitMs`, or if the signal aborts.
   */
  async take(subject: string, waitMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#taken < this.#maxRunning) {
      this.#taken += 1
      this.#count(subject, 1)
      return true
    }
    if (this.#waiting.length >= this.#maxWaiting) return false
    return new Promise((resolve) => {
      const end = (isTaken: boolean) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        resolve(isTaken)
      }
      const leave = () => end(false)
      const waiter = { subject, start: () => end(true) }
      const timer = setTimeout(leave, waitMs)
      signal.addEventListener('abort', leave)
      this.#waiting.push(waiter)
    })
  }

  release(subject: string): void {
    this.#count(subject, -1)
    const next = this.#nextWaiter()
    if (!next) {
      this.#taken -= 1
      return
    }
    this.#count(next.subject, 1)
    next.start()
  }

  #nextWaiter(): Waiter | undefined {
    const runningOf = ({ subject }: Waiter) => this.#running.get(subject) ?? 0
    const fewest = Math.min(...this.#waiting.map(runningOf))
    return this.#waiting.find((waiter) => runningOf(waiter) === fewest)
  }

  #count(subject: string, change: number): void {
    const running = (this.#running.get(subject) ?? 0) + change
    if (running === 0) this.#running.delete(subject)
    else this.#running.set(subject, running)
  }
}
