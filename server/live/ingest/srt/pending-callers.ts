const maxPending = 500
const maxPerNetwork = 100

/** Counts the callers whose keys are being checked. They are few and do not last. */
export class PendingCallers {
  readonly #networks = new Map<string, number>()
  #total = 0

  /** False if there are too many. */
  add(network: string): boolean {
    const ofNetwork = this.#networks.get(network) ?? 0
    if (this.#total >= maxPending || ofNetwork >= maxPerNetwork) return false
    this.#total++
    this.#networks.set(network, ofNetwork + 1)
    return true
  }

  remove(network: string): void {
    const left = (this.#networks.get(network) ?? 1) - 1
    this.#total--
    if (left > 0) this.#networks.set(network, left)
    else this.#networks.delete(network)
  }
}
