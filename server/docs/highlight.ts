import { escapeHtml } from '../lib/html.ts'

const words = (list: string) => new RegExp(`\\b(?:${list.replaceAll(' ', '|')})\\b`)
const string = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/
const number = /\b\d[\d_.]*\b/
const slashComment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//
const hashComment = /(?<=^|\s)#[^\n]*/m
const template = /`(?:[^`\\]|\\.)*`/
const anyOf = (...patterns: RegExp[]) => new RegExp(patterns.map(({ source }) => source).join('|'))
const cLike = (keywords: string) => ({ comment: slashComment, string, keyword: words(keywords), number })

type Rules = Partial<Record<'comment' | 'string' | 'name' | 'keyword' | 'number', RegExp>>

/** What is colored in each language of the docs, in the order in which it is looked for. */
const languages: Record<string, Rules> = {
  sh: {
    comment: hashComment,
    string: /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/,
    name: /\$\w+|\$\{\w+\}/,
    keyword: /(?<=^|[|(]\s*|&& )(?:export|curl|kinora|npm|npx|node|docker|sudo|echo|cat|sed)\b/m,
  },
  js: {
    ...cLike(
      'import from export const let await async new for of if else return try catch throw true false null',
    ),
    string: anyOf(string, template),
  },
  json: { name: /"(?:[^"\\\n]|\\.)*"(?=\s*:)/, string, keyword: words('true false null'), number },
  html: { comment: /<!--[\s\S]*?-->/, string, keyword: /<\/?[\w-]+|\/?>/ },
  python: {
    comment: hashComment,
    string,
    keyword: words('import from with as def for in if return None'),
    number,
  },
  go: { ...cLike('import func var return if nil err'), string: anyOf(string, template) },
  php: { ...cLike('new use return'), name: /\$\w+/ },
  java: cLike('new'),
  csharp: cLike('new var'),
  nginx: { comment: hashComment, string, name: /\$\w+/, keyword: /(?<=^\s*)\w+/m },
  ini: { comment: hashComment, keyword: /^\[[^\]]*\]|^\w+(?==)/m },
  yaml: { comment: hashComment, string, name: /[\w-]+(?=:\s)/ },
}

/** The API key in samples. Scripts of the page replace it with the key of the reader. */
const key =
  /\$KINORA_KEY|process\.env\.KINORA_KEY|os\.environ\["KINORA_KEY"\]|os\.Getenv\("KINORA_KEY"\)|getenv\('KINORA_KEY'\)|System\.getenv\("KINORA_KEY"\)|(?<=KINORA_KEY=)…/

/** Code as HTML, with the tokens that style.css colors. */
export function highlight(code: string, language: string): string {
  const rules = Object.entries(languages[language] ?? {})
  const pattern = new RegExp(
    [`(?<key>${key.source})`, ...rules.map(([name, { source }]) => `(?<${name}>${source})`)].join('|'),
    'gm',
  )
  let html = ''
  let end = 0
  for (const match of code.matchAll(pattern)) {
    html += escapeHtml(code.slice(end, match.index))
    end = match.index + match[0].length
    const [name] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? ['']
    html += `<span class="${name}">${name === 'key' ? escapeHtml(match[0]) : withKeys(match[0])}</span>`
  }
  return html + escapeHtml(code.slice(end))
}

/** A string may contain the key. */
const withKeys = (text: string) =>
  escapeHtml(text).replace(
    /\$KINORA_KEY|process\.env\.KINORA_KEY/g,
    (found) => `<span class="key">${found}</span>`,
  )
