/** The bytes from `from` up to, but without, `to`. */
export type ByteRange = { from: number; to: number }

/** In ascending order, without overlaps, and with adjacent ranges joined. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else if (from < to) joined.push({ from, to })
  }
  return joined
}

export const isInRanges = (ranges: readonly ByteRange[], { from, to }: ByteRange) =>
  ranges.some((range) => range.from <= from && to <= range.to)

export const overlapsRanges = (ranges: readonly ByteRange[], { from, to }: ByteRange) =>
  ranges.some((range) => range.from < to && from < range.to)

/** How many bytes from the start on are in the ranges without a gap. */
export const prefixOf = ([first]: readonly ByteRange[]) => (first?.from === 0 ? first.to : 0)
