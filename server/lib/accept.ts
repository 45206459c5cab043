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
  if (html.weight !== json.weight) return html.weight > json.weight
  // `text/html, */*` gives both the same weight, but names only one.
  return html.weight > 0 && html.specificity > json.specificity
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
  types.map((type) => matchOf(ranges, type)).reduce((a, b) => (b.weight > a.weight ? b : a))

/** The most specific range that includes a type decides. */
function matchOf(ranges: Range[], type: string): Match {
  const names = ['*/*', `${type.split('/')[0]}/*`, type]
  for (const specificity of [2, 1, 0]) {
    const found = ranges.find((range) => range.type === names[specificity])
    if (found) return { weight: found.weight, specificity }
  }
  return { weight: 0, specificity: 0 }
}
