/** Sorted, non-adjacent ranges of integers, each without its end: the same as a Postgres multirange. */
export type Ranges = readonly (readonly [from: number, to: number])[]

/** Bounds the size of a row. Beyond this number, only ranges that extend an existing one are added. */
const maxRanges = 1_000

export function addRange(ranges: Ranges, from: number, to: number): Ranges {
  if (!(from < to)) return ranges
  const others: (readonly [number, number])[] = []
  let [start, end] = [from, to]
  let isJoined = false
  for (const range of ranges) {
    if (range[1] < from || range[0] > to) {
      others.push(range)
      continue
    }
    isJoined = true
    start = Math.min(start, range[0])
    end = Math.max(end, range[1])
  }
  if (!isJoined && ranges.length >= maxRanges) return ranges
  const index = others.findIndex((range) => range[0] > start)
  others.splice(index < 0 ? others.length : index, 0, [start, end])
  return others
}

export const lengthOf = (ranges: Ranges) => ranges.reduce((sum, [from, to]) => sum + to - from, 0)

export const formatRanges = (ranges: Ranges) => `{${ranges.map(([from, to]) => `[${from},${to})`).join(',')}}`

export function parseRanges(text: string): Ranges {
  return [...text.matchAll(/\[(-?\d+),(-?\d+)\)/g)].map(([, from, to]) => [Number(from), Number(to)] as const)
}
