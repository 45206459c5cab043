import { highlight } from './highlight.ts'

/** A table that becomes a list of cards on small screens. The cells are HTML. */
export function table(head: string[], rows: string[][]): string {
  const label = (i: number) => {
    const text = (head[i] ?? '').replace(/<[^>]*>/g, '')
    return text ? ` data-label="${text}"` : ''
  }
  const row = (cells: string[]) =>
    `<tr role="row">${cells.map((cell, i) => `<td role="cell"${i > 0 ? label(i) : ''}>${cell}</td>`).join('')}</tr>`
  const headCells = head.map((cell) => `<th role="columnheader">${cell}</th>`).join('')
  const headRow = head.some(Boolean) ? `<thead role="rowgroup"><tr role="row">${headCells}</tr></thead>` : ''
  return `<table role="table">${headRow}<tbody role="rowgroup">${rows.map(row).join('')}</tbody></table>\n`
}

/** Focusable, because a keyboard could not scroll it otherwise. */
export const codeBlock = (code: string, language = '') =>
  `<pre tabindex="0"><code>${highlight(code, language)}</code></pre>\n`
