import type { ErrorKind } from '../lib/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { frame, prose } from './frame.ts'

export function errorPage({ slug, status, title, explanation }: ErrorKind): string {
  return frame(
    `${slug} – Kinora`,
    `<main class="single"><p><a href="/docs/errors">Errors</a></p>
<h1>${escapeHtml(title)}</h1>
<p><code>${slug}</code>, status ${status}</p>
<p>${prose(explanation)}</p></main>`,
  )
}

export function errorListPage(kinds: ErrorKind[]): string {
  return frame('Errors – Kinora', `<main class="single"><h1>Errors</h1>\n${errorTable(kinds)}</main>`)
}

export function errorTable(kinds: ErrorKind[]): string {
  const rows = kinds.map(
    ({ slug, status, explanation }) =>
      `<tr><td><a href="/docs/errors/${slug}"><code>${slug}</code></a></td><td>${status}</td><td>${prose(explanation)}</td></tr>`,
  )
  return `<p>Errors are <code>application/problem+json</code>: <code>title</code> describes the problem, <code>name</code> is the invalid attribute or parameter, and <code>problems</code> lists every problem.</p>
<div class="wide"><table><thead><tr><th>Kind</th><th>Status</th><th>Explanation</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}
