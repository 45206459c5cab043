import type { ErrorKind } from '../lib/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { table } from './blocks.ts'
import { frame, prose } from './frame.ts'
import type { Site } from './site.ts'

export function errorPage(site: Site, { slug, status, title, explanation }: ErrorKind): string {
  return frame(site, {
    title: `${slug} – Kinora`,
    body: `<main id="content" class="text single"><p><a href="/docs/errors">Errors</a></p>
<h1>${escapeHtml(title)}</h1>
<p><code>${slug}</code>, status ${status}</p>
<p>${prose(explanation)}</p></main>`,
  })
}

export function errorListPage(site: Site, kinds: ErrorKind[]): string {
  return frame(site, {
    title: 'Errors – Kinora',
    body: `<main id="content" class="text single"><h1>Errors</h1>\n${errorTable(kinds)}</main>`,
  })
}

export function errorTable(kinds: ErrorKind[]): string {
  const rows = kinds.map(({ slug, status, explanation }) => [
    `<a href="/docs/errors/${slug}"><code>${slug}</code></a>`,
    String(status),
    prose(explanation),
  ])
  return `<p>Errors are <code>application/problem+json</code>: <code>title</code> describes the problem, <code>name</code> is the invalid attribute or parameter, and <code>problems</code> lists every problem.</p>
${table(['Kind', 'Status', 'Explanation'], rows)}`
}
