/** Pseudorandom numbers that a seed repeats (mulberry32). */
export type Random = {
  /** From 0, below 1. */
  next(): number
  /** A whole number from `min` to `max`. */
  integer(min: number, max: number): number
  pick<T>(list: readonly T[]): T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = state
    value = Math.imul(value ^ (value >>> 15), value | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (list) => {
      if (list.length === 0) throw new Error('nothing to pick from')
      return list[Math.floor(next() * list.length)]!
    },
  }
}
