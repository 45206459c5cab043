import { Marked, type MarkedExtension, type Token } from 'marked'
import { escapeHtml } from '../lib/html.ts'
import { codeBlock, table } from './blocks.ts'

/** A heading and what follows it, without markup. */
export type Section = { id: string; depth: number; heading: string; text: string }

/** Markdown of a guide as HTML. `titles` are those of all guides by name, for links between them. */
export function renderMarkdown(text: string, titles: Map<string, string>, publicUrl: string) {
  const tokens = new Marked().lexer(text)
  const sections = sectionsOf(tokens)
  const ids = sections.map(({ id }) => id)
  return { html: new Marked(forPages(titles, ids, publicUrl)).parser(tokens), sections, tokens }
}

function sectionsOf(tokens: Token[]): Section[] {
  const sections: Section[] = []
  for (const token of tokens) {
    const current = sections.at(-1)
    if (token.type === 'heading') {
      const slug = headingId(token.text)
      const count = sections.filter(({ heading }) => headingId(heading) === slug).length
      const id = count === 0 ? slug : `${slug}-${count}`
      sections.push({ id, depth: token.depth, heading: plainText(token.text), text: '' })
    } else if (current && token.type !== 'html') current.text += `${proseOf(token)} `
  }
  return sections
}

/** The text of a block, without the signs of lists, tables and code. */
const proseOf = (token: Token) =>
  plainText(token.type === 'code' ? token.text : token.raw)
    .replace(/^\s*[-*>] |:?-{3,}:?|\|/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** Links between the files become links between the pages. Headings get the ids that GitHub gives them. */
function forPages(titles: Map<string, string>, ids: string[], publicUrl: string): MarkedExtension {
  const next = ids.values()
  return {
    renderer: {
      heading({ tokens, depth }) {
        const id = next.next().value
        const content = this.parser.parseInline(tokens)
        if (depth === 1) return `<h1 id="${id}">${content}</h1>\n`
        return `<h${depth} id="${id}">${content} <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${depth}>\n`
      },
      link({ href, tokens, text }) {
        const content = this.parser.parseInline(tokens)
        const [, name, hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
        if (name) {
          // A reader of the pages does not know the names of the files.
          const label = text === `${name}.md` ? escapeHtml(titles.get(name) ?? name) : content
          return `<a href="/docs/guides/${name}${escapeHtml(hash)}">${label}</a>`
        }
        // Other files of the repository are not served.
        return /^(https?:|#)/.test(href) ? `<a href="${escapeHtml(href)}">${content}</a>` : content
      },
      image({ href, text }) {
        return `<img src="/docs/${escapeHtml(href)}" alt="${escapeHtml(text)}">`
      },
      code: ({ text, lang }) => codeBlock(text.replaceAll('http://localhost:8080', publicUrl), lang),
      table(token) {
        const cells = (row: { tokens: Token[] }[]) => row.map(({ tokens }) => this.parser.parseInline(tokens))
        return table(cells(token.header), token.rows.map(cells))
      },
    },
  }
}

/** Inline Markdown without its marks. */
export const plainText = (text: string) =>
  text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replace(/\*\*([^*]+)\*\*/g, '$1')

const headingId = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
