import { hash } from 'node:crypto'
import { escapeHtml } from '../lib/html.ts'
import { icon } from './icons.ts'
import type { Site } from './site.ts'

/** Escapes the text, and turns `backticks` into code elements and Markdown links to our pages into links. */
export const prose = (text: string) =>
  escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((\/[^)\s]*)\)/g, '<a href="$2">$1</a>')

/** The theme that the reader has chosen here or in the dashboard, before anything is painted. */
const themeScript =
  "try{const theme=localStorage.getItem('kinora-theme');if(theme)document.documentElement.dataset.theme=theme}catch{}"

export const themeScriptSource = `'sha256-${hash('sha256', themeScript, 'base64')}'`

/** The part of the docs that a page belongs to. */
type Section = 'guides' | 'reference'

/** The same on every page, like the top of the dashboard. Tools that need scripts are hidden without them. */
function header(section: Section | undefined): string {
  const link = (name: Section, href: string, label: string) =>
    `<a href="${href}"${name === section ? ' aria-current="true"' : ''}>${label}</a>`
  return `<a class="skip" href="#content">Skip to content</a>
<header class="bar">
<a class="brand" href="/docs/guides" aria-label="Kinora docs"><img src="/favicon.svg" width="24" height="24" alt=""><span>Kinora</span></a>
<nav aria-label="Docs">${link('guides', '/docs/guides', 'Guides')}${link('reference', '/docs', 'API<span> reference</span>')}</nav>
<button class="tool search-button scripted" id="search" type="button" aria-label="Search" aria-keyshortcuts="/ Control+K">${icon('search')}<span>Search</span><kbd>/</kbd></button>
<button class="tool scripted" id="key" type="button" aria-haspopup="dialog">${icon('key')}<span>Your key</span></button>
<label class="tool theme scripted">${icon('theme')}<select aria-label="Appearance" id="theme"><option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select></label>
<a class="tool" href="/dashboard">${icon('home')}<span>Dashboard</span></a>
</header>`
}

type Page = {
  title: string
  /** What follows the header. An element has the id `content`. */
  body: string
  section?: Section
  /** More tags of the head. */
  tags?: string
}

export function frame(site: Site, { title, body, section, tags = '' }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<script>${themeScript}</script>
<link rel="icon" href="/favicon.ico" sizes="32x32">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${site.tags}
${tags}
</head>
<body>
${header(section)}
${body}
</body>
</html>
`
}
