import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Marked, type MarkedExtension, type Token } from 'marked'
import { type Asset, textAsset } from '../lib/assets.ts'
import { escapeHtml } from '../lib/html.ts'
import { frame } from './frame.ts'

const docsFolder = fileURLToPath(new URL('../../docs/', import.meta.url))

/** The order of the guides. A file that is not listed is in the last group. */
const groups: [title: string, names: string[]][] = [
  ['Start', ['dashboard', 'accounts', 'videos', 'uploads', 'tus', 'clients', 'cli']],
  ['Media', ['encoding', 'thumbnails', 'watermarks', 'captions', 'transcripts']],
  ['Live', ['live', 'restreams']],
  ['Playback', ['player', 'playback', 'analytics']],
  ['Integration', ['webhooks', 'errors']],
  ['Operation', ['deploy', 'operations', 'backups', 'metrics', 'upgrades', 'settings', 'delivery']],
  ['More', ['benchmarks', 'architecture']],
]

type Guide = { name: string; title: string; intro: string; content: string }

/** The pages of the Markdown files in `docs`, by name, and their index. */
export async function loadGuides(): Promise<{ index: Asset; pages: Map<string, Asset> }> {
  const texts = new Map<string, string>()
  for (const file of await readdir(docsFolder))
    if (file.endsWith('.md')) texts.set(basename(file, '.md'), await readFile(docsFolder + file, 'utf8'))
  const titles = new Map([...texts].map(([name, text]) => [name, /^# (.+)$/m.exec(text)?.[1] ?? name]))
  const guides = new Map<string, Guide>()
  for (const [name, text] of texts) {
    const marked = new Marked(forPages(titles))
    const tokens = marked.lexer(text)
    guides.set(name, {
      name,
      title: titles.get(name)!,
      intro: introOf(tokens),
      content: marked.parser(tokens),
    })
  }
  const pages = new Map<string, Asset>()
  for (const guide of guides.values()) pages.set(guide.name, await pageAsset(guidePage(guide, guides)))
  return { index: await pageAsset(indexPage(guides)), pages }
}

const pageAsset = (html: string) => textAsset('text/html; charset=utf-8', html)

/** The first paragraph, without markup and without a last sentence that introduces what follows. */
function introOf(tokens: Token[]): string {
  const first = tokens.find((token) => token.type === 'paragraph')
  const text = first && 'text' in first ? String(first.text) : ''
  return text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replace(/[^.]*:$/, '')
}

function guidePage({ name, title, content }: Guide, guides: Map<string, Guide>): string {
  return frame(`${title} – Kinora`, `${navigation(guides, name)}\n<main class="guide">${content}</main>`)
}

function indexPage(guides: Map<string, Guide>): string {
  const sections = grouped(guides).map(([group, list]) => {
    const items = list.map(
      ({ name, title, intro }) =>
        `<dt><a href="/docs/guides/${name}">${escapeHtml(title)}</a></dt><dd>${escapeHtml(intro)}</dd>`,
    )
    return `<h2>${group}</h2><dl class="intros">${items.join('')}</dl>`
  })
  return frame(
    'Guides – Kinora',
    `${navigation(guides)}\n<main><h1>Guides</h1>\n${sections.join('\n')}</main>`,
  )
}

function navigation(guides: Map<string, Guide>, current?: string): string {
  const lists = grouped(guides).map(([group, list]) => {
    const items = list.map(({ name, title }) => {
      const mark = name === current ? ' aria-current="page"' : ''
      return `<li><a href="/docs/guides/${name}"${mark}>${escapeHtml(title)}</a></li>`
    })
    return `<p>${group}</p><ul>${items.join('')}</ul>`
  })
  return `<nav class="guides" aria-label="Guides">${lists.join('')}</nav>`
}

function grouped(guides: Map<string, Guide>): [title: string, guides: Guide[]][] {
  const listed = new Set(groups.flatMap(([, names]) => names))
  const others = [...guides.keys()].filter((name) => !listed.has(name)).sort()
  return groups.map(([title, names], i) => {
    const all = i === groups.length - 1 ? [...names, ...others] : names
    return [title, all.map((name) => guides.get(name)).filter((guide) => !!guide)]
  })
}

/** Links between the files become links between the pages. Headings get the ids that GitHub gives them. */
function forPages(titles: Map<string, string>): MarkedExtension {
  const ids = new Map<string, number>()
  return {
    renderer: {
      heading({ tokens, depth, text }) {
        const slug = headingId(text)
        const count = ids.get(slug) ?? 0
        ids.set(slug, count + 1)
        const id = count === 0 ? slug : `${slug}-${count}`
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
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
      table(token) {
        const row = (cells: { tokens: Token[] }[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        return `<div class="wide"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  }
}

const headingId = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
