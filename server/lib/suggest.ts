/** The word that was probably meant, whatever its case. Undefined if none is similar. */
export function findSimilar(typed: string, words: Iterable<string>): string | undefined {
  // Two typos in a long word, one in a short one.
  const max = typed.length > 4 ? 2 : 1
  let closest: { word: string; distance: number } | undefined
  const lower = typed.toLowerCase()
  for (const word of words) {
    if (Math.abs(typed.length - word.length) > max) continue
    const distance = editDistance(lower, word.toLowerCase())
    if (distance <= (closest ? closest.distance - 1 : max)) closest = { word, distance }
  }
  return closest?.word
}

/** How many letters have to be inserted, removed, replaced or swapped with the next one. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, j) => j)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, replaced)
      const isSwapped = j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (isSwapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[to.length]!
}
