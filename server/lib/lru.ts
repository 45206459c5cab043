/** Remembers as many as `size`: of more, those that were not asked for the longest are forgotten. */
export class Lru<Key, Value> {
  readonly #size: number
  // A map keeps the order in which its keys were set.
  readonly #values = new Map<Key, Value>()

  constructor(size: number) {
    this.#size = size
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#size) return
    const { value: oldest } = this.#values.keys().next()
    this.#values.delete(oldest as Key)
  }

  clear(): void {
    this.#values.clear()
  }
}
