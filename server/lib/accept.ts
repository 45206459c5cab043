type Weighted = { value: string; weight: number }
type Match = { weight: number; specificity: number }

/**
 * Whether a client prefers an HTML page to JSON, by its Accept header. Browsers name text/html when they open a page. API
 * clients, curl and media players accept everything or name JSON. Not by `negotiator`, which prefers the first of several
 * types with the same weight, and which does not find `text/html` in `text/html;charset=utf-8`.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (!accept) return false
  const ranges = parseWeights(accept)
  const html = bestMatch(ranges, ['text/html'])
  const json = bestMatch(ranges, ['application/problem+json', 'application/json'])
  return html.weight > 0 && isBetter(html, json)
}

/** The values of a header such as Accept or Accept-Encoding. An invalid weight is 0. */
export function parseWeights(header: string): Weighted[] {
  return header
    .toLowerCase()
    .split(',')
    .map((each) => {
      const [value = '', ...parameters] = each.split(';').map((word) => word.trim())
      const weight = parameters.find((word) => word.startsWith('q='))?.slice(2)
      return { value, weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
}

const bestMatch = (ranges: Weighted[], types: string[]) =>
  types.map((type) => matchOf(ranges, type)).reduce((a, b) => (isBetter(b, a) ? b : a))

// `text/html, */*` gives all types the same weight, but names only one.
const isBetter = (a: Match, b: Match) =>
  a.weight === b.weight ? a.specificity > b.specificity : a.weight > b.weight

/** The most specific range that includes a type decides. */
function matchOf(ranges: Weighted[], type: string): Match {
  const names = ['*/*', `${type.split('/')[0]}/*`, type]
  for (const specificity of [2, 1, 0]) {
    const found = ranges.find((range) => range.value === names[specificity])
    if (found) return { weight: found.weight, specificity }
  }
  return { weight: 0, specificity: 0 }
}
