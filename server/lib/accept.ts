type Range = { type: string; weight: number }
type Match = { weight: number; specificity: number }

/**
 * Whether a client prefers an HTML page to JSON, by its Accept header. Browsers name text/html when they open a page. API
 * clients, curl and media players accept everything or name JSON.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (!accept) return false
  const ranges = parseRanges(accept)
  const html = bestMatch(ranges, ['text/html'])
  const json = bestMatch(ranges, ['application/problem+json', 'application/json'])
  return html.weight > 0 && isBetter(html, json)
}

function parseRanges(accept: string): Range[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((each) => {
      const [type = '', ...parameters] = each.split(';').map((word) => word.trim())
      const weight = parameters.find((word) => word.startsWith('q='))?.slice(2)
      return { type, weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
}

const bestMatch = (ranges: Range[], types: string[]) =>
  types.map((type) => matchOf(ranges, type)).reduce((a, b) => (isBetter(b, a) ? b : a))

// `text/html, */*` gives all types the same weight, but names only one.
const isBetter = (a: Match, b: Match) =>
  a.weight === b.weight ? a.specificity > b.specificity : a.weight > b.weight

/** The most specific range that includes a type decides. */
function matchOf(ranges: Range[], type: string): Match {
  const names = ['*/*', `${type.split('/')[0]}/*`, type]
  for (const specificity of [2, 1, 0]) {
    const found = ranges.find((range) => range.type === names[specificity])
    if (found) return { weight: found.weight, specificity }
  }
  return { weight: 0, specificity: 0 }
}
