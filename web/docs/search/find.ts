/** What can be found: a section of a guide, an operation of the API, a kind of error. The server writes the list. */
export type Entry = { group: string; title: string; detail: string; url: string; text: string }

export type Found = Entry & { snippet: string }

const maxPerGroup = 6
const snippetLength = 130

const normalize = (text: string) => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')

export const wordsOf = (query: string): string[] => normalize(query).split(/\s+/).filter(Boolean)

/** The best entries of each group, the group with the best one first. Every word has to occur. */
export function find(entries: Entry[], query: string): Found[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const groups = new Map<string, { entry: Entry; score: number }[]>()
  for (const entry of entries) {
    const score = rate(entry, words)
    if (score === 0) continue
    const group = groups.get(entry.group) ?? []
    group.push({ entry, score })
    groups.set(entry.group, group)
  }
  for (const group of groups.values()) group.sort((a, b) => b.score - a.score)
  return [...groups.values()]
    .sort((a, b) => b[0]!.score - a[0]!.score)
    .flatMap((group) => group.slice(0, maxPerGroup))
    .map(({ entry }) => ({ ...entry, snippet: snippetOf(entry.text, words) }))
}

/** Zero if a word is missing. Headings count more than texts, and the beginning of a word more than its middle. */
function rate({ title, detail, text }: Entry, words: string[]): number {
  const [first, second, third] = [normalize(title), normalize(detail), normalize(text)]
  let score = first === words.join(' ') ? 10 : 0
  for (const word of words) {
    const best = Math.max(6 * match(first, word), 5 * match(second, word), match(third, word))
    if (best === 0) return 0
    score += best
  }
  return score / words.length
}

function match(text: string, word: string): number {
  const index = text.indexOf(word)
  if (index < 0) return 0
  return new RegExp(`(?<![\\p{L}\\p{N}])${escapeWord(word)}`, 'u').test(text) ? 2 : 1
}

/** For a pattern. */
export const escapeWord = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The text around the first word in it. */
function snippetOf(text: string, words: string[]): string {
  const normalized = normalize(text)
  const positions = words.map((word) => normalized.indexOf(word)).filter((position) => position >= 0)
  const first = positions.length > 0 ? Math.min(...positions) : 0
  const start = first < snippetLength / 2 ? 0 : text.indexOf(' ', first - 50) + 1
  const end = start + snippetLength
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
