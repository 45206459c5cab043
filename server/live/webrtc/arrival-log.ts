import type { Arrivals } from './rtcp.ts'

const maxReported = 400
/** A sender has sent fewer since the last reports. Its numbers have jumped. */
const maxUnreported = 2_000
/** A packet that is overtaken by others for less than this is not reported as lost. */
const reorderUs = 60_000

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
    if (number - this.#first >= maxUnreported) this.#restart(number)
    this.#highest = Math.max(known ?? number, number)
    this.#times.set(number, timeUs)
  }

  /** What arrived since the last call, in reports of a limited length. */
  take(nowUs: number): Arrivals[] {
    const reports: Arrivals[] = []
    const end = this.#findEnd(nowUs)
    while (this.#first !== undefined && this.#first < end) {
      const first = this.#first
      const length = Math.min(maxReported, end - first)
      const times = Array.from({ length }, (_, i) => this.#times.get(first + i))
      this.#first = first + length
      if (times.some((time) => time !== undefined)) reports.push({ first, times, count: this.#reports++ })
    }
    for (const number of this.#times.keys()) if (number < end) this.#times.delete(number)
    return reports
  }

  /** Up to the first packet that may only be late. A missing one is waited for from the next one's arrival on. */
  #findEnd(nowUs: number): number {
    const end = (this.#highest ?? -1) + 1
    let overtakenUs: number | undefined
    let missing: number | undefined
    for (let number = end - 1; number >= (this.#first ?? end); number--) {
      const time = this.#times.get(number)
      if (time !== undefined) overtakenUs = Math.min(overtakenUs ?? time, time)
      else if (overtakenUs !== undefined && nowUs - overtakenUs < reorderUs) missing = number
    }
    return missing ?? end
  }

  #restart(number: number): void {
    this.#times.clear()
    this.#first = number
  }
}
