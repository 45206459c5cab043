import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Token } from 'marked'
import { plainText, renderMarkdown, type Section } from './markdown.ts'

const docsFolder = fileURLToPath(new URL('../../docs/', import.meta.url))

/** The order in which a reader needs the guides. A file that is not listed is in the last group. */
const groups: [title: string, names: string[]][] = [
  ['Start', ['quickstart', 'dashboard', 'accounts', 'clients', 'cli', 'import']],
  ['Videos', ['uploads', 'tus', 'videos', 'encoding']],
  ['Playback', ['playback', 'player', 'thumbnails', 'captions', 'transcripts', 'watermarks', 'analytics']],
  ['Live', ['live', 'restreams']],
  ['Integration', ['webhooks', 'errors']],
  [
    'Operations',
    ['deploy', 'operations', 'postgres', 'settings', 'delivery', 'scale', 'backups', 'upgrades', 'metrics'],
  ],
  ['Background', ['architecture', 'benchmarks']],
]

export type Guide = { name: string; title: string; intro: string; html: string; sections: Section[] }
export type GuideGroup = { title: string; guides: Guide[] }

/** The Markdown files in `docs`. Their samples call the service at `publicUrl`. */
export async function loadGuides(publicUrl: string): Promise<GuideGroup[]> {
  const texts = new Map<string, string>()
  for (const file of await readdir(docsFolder))
    if (file.endsWith('.md')) texts.set(basename(file, '.md'), await readFile(docsFolder + file, 'utf8'))
  const titles = new Map([...texts].map(([name, text]) => [name, /^# (.+)$/m.exec(text)?.[1] ?? name]))
  const guideOf = (name: string): Guide => {
    const { html, sections, tokens } = renderMarkdown(texts.get(name)!, titles, publicUrl)
    return { name, title: titles.get(name)!, intro: introOf(tokens), html, sections }
  }
  const listed = new Set(groups.flatMap(([, names]) => names))
  const others = [...texts.keys()].filter((name) => !listed.has(name)).sort()
  return groups.map(([title, names], i) => {
    const all = i === groups.length - 1 ? [...names, ...others] : names
    return { title, guides: all.filter((name) => texts.has(name)).map(guideOf) }
  })
}

/** The first paragraph, without markup and without a last sentence that introduces what follows. */
function introOf(tokens: Token[]): string {
  const first = tokens.find((token) => token.type === 'paragraph')
  return plainText(first && 'text' in first ? String(first.text) : '').replace(/[^.]*:$/, '')
}
