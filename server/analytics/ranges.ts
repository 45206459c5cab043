/** Whole numbers, each range without its end; in order, with gaps between. As Postgres' multiranges. */
export type Ranges = readonly (readonly [from: number, to: number])[]

/** Past this many, a range that touches no other is left out: somebody jumps about to make the row large. */
const mostRanges = 1_000

export function addRange(ranges: Ranges, from: number, to: number): Ranges {
  if (!(from < to)) return ranges
  const apart: (readonly [number, number])[] = []
  let [first, beyond] = [from, to]
  let isJoined = false
  for (const range of ranges) {
    if (range[1] < from || range[0] > to) {
      apart.push(range)
      continue
    }
    isJoined = true
    first = Math.min(first, range[0])
    beyond = Math.max(beyond, range[1])
  }
  if (!isJoined && ranges.length >= mostRanges) return ranges
  const place = apart.findIndex((range) => range[0] > first)
  apart.splice(place < 0 ? apart.length : place, 0, [first, beyond])
  return apart
}

export const lengthOf = (ranges: Ranges) => ranges.reduce((sum, [from, to]) => sum + to - from, 0)

export const formatRanges = (ranges: Ranges) => `{${ranges.map(([from, to]) => `[${from},${to})`).join(',')}}`

export function parseRanges(text: string): Ranges {
  return [...text.matchAll(/\[(-?\d+),(-?\d+)\)/g)].map(([, from, to]) => [Number(from), Number(to)] as const)
}
