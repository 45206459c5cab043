import { type Asset, textAsset } from '../lib/assets.ts'
import { escapeHtml } from '../lib/html.ts'
import { frame } from './frame.ts'
import type { Guide, GuideGroup } from './guides.ts'
import type { Site } from './site.ts'

export type GuidePages = { index: Asset; pages: Map<string, Asset> }

/** The pages of the guides, by name, and their index. */
export async function renderGuides(site: Site, groups: GuideGroup[]): Promise<GuidePages> {
  const all = groups.flatMap(({ guides }) => guides)
  const pages = new Map<string, Asset>()
  for (const [i, guide] of all.entries()) {
    const body = `<div class="page">
${navigation(groups, guide.name)}
<main id="content" class="text">${guide.html}${neighbors(all[i - 1], all[i + 1])}</main>
${contents(guide)}
</div>`
    pages.set(guide.name, await pageAsset(frame(site, { title: titleOf(guide), section: 'guides', body })))
  }
  return { index: await pageAsset(indexPage(site, groups)), pages }
}

const pageAsset = (html: string) => textAsset('text/html; charset=utf-8', html)
const titleOf = ({ title }: Guide) => `${title} – Kinora`
const link = ({ name, title }: Guide, attributes = '') =>
  `<a href="/docs/guides/${name}"${attributes}>${escapeHtml(title)}</a>`

function indexPage(site: Site, groups: GuideGroup[]): string {
  const sections = groups.map(({ title, guides }) => {
    const items = guides.map((guide) => `<li>${link(guide)}<p>${escapeHtml(guide.intro)}</p></li>`)
    return `<h2>${title}</h2><ul class="cards">${items.join('')}</ul>`
  })
  const body = `<div class="page">
${navigation(groups)}
<main id="content" class="text"><h1>Guides</h1>\n${sections.join('\n')}</main>
</div>`
  return frame(site, { title: 'Guides – Kinora', section: 'guides', body })
}

function navigation(groups: GuideGroup[], current?: string): string {
  const lists = groups.map(({ title, guides }) => {
    const items = guides.map(
      (guide) => `<li>${link(guide, guide.name === current ? ' aria-current="page"' : '')}</li>`,
    )
    return `<p>${title}</p><ul>${items.join('')}</ul>`
  })
  return `<nav class="side" aria-label="Guides">${lists.join('')}</nav>`
}

/** The sections of a page, on wide screens. */
function contents({ sections }: Guide): string {
  const main = sections.filter(({ depth }) => depth === 2)
  if (main.length < 2) return ''
  const items = main.map(({ id, heading }) => `<li><a href="#${id}">${escapeHtml(heading)}</a></li>`)
  return `<nav class="on-page" aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></nav>`
}

function neighbors(previous: Guide | undefined, next: Guide | undefined): string {
  const links = [
    previous ? `<span>Previous<br>${link(previous, ' rel="prev"')}</span>` : '',
    next ? `<span class="next">Next<br>${link(next, ' rel="next"')}</span>` : '',
  ]
  return `<nav class="neighbors" aria-label="Neighboring guides">${links.join('')}</nav>`
}
