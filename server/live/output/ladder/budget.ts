/** The rest is for sources that are passed through, for requests and for the database. */
const shareOfLadders = 0.85

/** The cores of the machine, which the ladders of all broadcasts of this process share. */
export class LadderBudget {
  readonly #cores: number
  readonly #reserved = new Map<object, number>()

  constructor(cores: number) {
    this.#cores = shareOfLadders * cores
  }

  /** The cores that the others leave. */
  availableFor(owner: object): number {
    let others = 0
    for (const [each, cores] of this.#reserved) if (each !== owner) others += cores
    return Math.max(0, this.#cores - others)
  }

  reserve(owner: object, cores: number): void {
    this.#reserved.set(owner, cores)
  }

  release(owner: object): void {
    this.#reserved.delete(owner)
  }
}
