export type Language = 'json' | 'http' | 'html' | 'js' | 'sh' | 'python' | 'php'
type TokenKind = 'comment' | 'string' | 'name' | 'keyword' | 'number'
export type Token = { text: string; kind?: TokenKind }

/** By the names that samples have. */
export const languageOf: Record<string, Language> = { curl: 'sh', Node: 'js', Python: 'python', PHP: 'php' }

const words = (list: string) => new RegExp(`\\b(?:${list.replaceAll(' ', '|')})\\b`)
const string = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/
const quoted = /"(?:[^"\\\n]|\\.)*"/
const number = /(?<![\w.-])-?\d[\d_.]*(?:[eE][+-]?\d+)?\b/
const hashComment = /(?<=^|\s)#[^\n]*/

/** What is colored in each language, in the order in which it is looked for. */
const languages: Record<Language, Partial<Record<TokenKind, RegExp>>> = {
  json: {
    name: new RegExp(`${quoted.source}(?=\\s*:)`),
    string: quoted,
    keyword: words('true false null'),
    number,
  },
  http: { name: /^[\w-]+(?=: )/ },
  html: { comment: /<!--[\s\S]*?-->/, string, keyword: /<[/!]?[\w-]+|\/?>/ },
  js: {
    comment: /\/\/[^\n]*/,
    string: new RegExp(`${string.source}|\`(?:[^\`\\\\]|\\\\.)*\``),
    keyword: words(
      'import from export function const let await async new for of if else return throw true false null',
    ),
    number,
  },
  sh: { comment: hashComment, string, name: /\$\w+/, keyword: /^(?:curl|ffmpeg|kinora|npm|npx|node)\b/ },
  python: {
    comment: hashComment,
    string,
    keyword: words('import from def for in if not or and return True False None'),
    number,
  },
  php: {
    comment: /\/\/[^\n]*/,
    string,
    name: /\$\w+/,
    keyword: words('function foreach as if return true false null'),
    number,
  },
}

/** Splits code into what has a color and what has none. The texts of all tokens are the code. */
export function tokenize(code: string, language: Language | undefined): Token[] {
  if (!language) return [{ text: code }]
  const rules = Object.entries(languages[language]) as [TokenKind, RegExp][]
  const pattern = new RegExp(rules.map(([kind, { source }]) => `(?<${kind}>${source})`).join('|'), 'gm')
  const tokens: Token[] = []
  let end = 0
  for (const { 0: text, index, groups = {} } of code.matchAll(pattern)) {
    const kind = rules.find(([name]) => groups[name] !== undefined)?.[0]
    if (index > end) tokens.push({ text: code.slice(end, index) })
    if (kind) tokens.push({ text, kind })
    end = index + text.length
  }
  if (end < code.length) tokens.push({ text: code.slice(end) })
  return tokens
}
