import type { ApiError } from '../lib/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { pageHeaders, renderPage } from './page.ts'

/** The page of an error. It tells what the JSON response tells. */
export function errorPage(
  error: ApiError,
  requestId: string,
): { headers: Record<string, string>; html: string } {
  const { status, message, slug, extra } = error
  const problems = (extra.problems ?? []).slice(1).map(({ title }) => `<li>${escapeHtml(title)}</li>`)
  const name = extra.name ? `<p>Parameter: <code>${escapeHtml(extra.name)}</code></p>` : ''
  const main = [
    `<p class="status">Error ${status}</p>`,
    `<h1>${escapeHtml(message)}</h1>`,
    problems.length > 0 ? `<ul>${problems.join('')}</ul>` : '',
    extra.detail ? `<p>${escapeHtml(extra.detail)}</p>` : '',
    name,
    `<p><a href="/docs/errors/${escapeHtml(slug)}">What this error means</a></p>`,
    '<p><a href="/">Start page</a></p>',
  ]
  return {
    headers: pageHeaders,
    html: renderPage({
      title: `${status} – ${message}`,
      main: main.filter(Boolean).join('\n'),
      footer: `<p class="muted">Request id: <code>${escapeHtml(requestId)}</code></p>`,
    }),
  }
}
