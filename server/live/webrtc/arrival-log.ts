import type { Arrivals } from './rtcp.ts'

const maxReported = 400

/** When the packets of all tracks arrived, for the report to the sender. */
export class ArrivalLog {
  readonly #times = new Map<number, number>()
  #first: number | undefined
  #highest: number | undefined
  #reports = 0

  add(sequence: number, timeUs: number): void {
    const known = this.#highest
    const number = known === undefined ? sequence + 0x10000 : known + (((sequence - known) << 16) >> 16)
    // It was reported as missing.
    if (this.#first !== undefined && number < this.#first) return
    this.#first ??= number
    this.#highest = Math.max(known ?? number, number)
    this.#times.set(number, timeUs)
  }

  /** What arrived since the last call, in reports of a limited length. */
  take(): Arrivals[] {
    const reports: Arrivals[] = []
    while (this.#first !== undefined && this.#highest !== undefined && this.#first <= this.#highest) {
      const first = this.#first
      const length = Math.min(maxReported, this.#highest - first + 1)
      const times = Array.from({ length }, (_, i) => this.#times.get(first + i))
      this.#first = first + length
      // After a jump, nothing is there.
      if (times.some((time) => time !== undefined)) reports.push({ first, times, count: this.#reports++ })
    }
    this.#times.clear()
    return reports
  }
}
