import { createHmac, randomBytes } from 'node:crypto'

/** A caller returns the cookie at once. */
const validMs = 60_000

/**
 * Cookies prove that a caller receives at its address. They are computed, so that an induction from a spoofed address
 * leaves nothing behind.
 */
export class Cookies {
  readonly #secret = randomBytes(32)
  readonly #clock: () => number

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  create(address: string, port: number): number {
    return this.#compute(address, port, this.#period)
  }

  isValid(cookie: number, address: string, port: number): boolean {
    return [0, 1].some((age) => this.#compute(address, port, this.#period - age) === cookie)
  }

  get #period(): number {
    return Math.floor(this.#clock() / validMs)
  }

  #compute(address: string, port: number, period: number): number {
    return createHmac('sha256', this.#secret).update(`${address} ${port} ${period}`).digest().readUInt32BE(0)
  }
}
