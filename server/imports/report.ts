import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { type ListedItem, listItemsAfter } from './item-store.ts'

const columns = ['kind', 'sourceId', 'objectId', 'title', 'state', 'reason', 'notes', 'bytes', 'seconds']
const rowsAtOnce = 1_000

/** All items of a run as CSV (RFC 4180), read while it is sent. */
export async function* writeReport(db: Db<Tables>, runId: string): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
  for (let after = 0; ; ) {
    const items = await listItemsAfter(db, runId, after, rowsAtOnce)
    if (items.length > 0) yield items.map(formatRow).join('')
    if (items.length < rowsAtOnce) return
    after = items.at(-1)!.id
  }
}

function formatRow(item: ListedItem): string {
  const { kind, source_id, object_id, title, state, reason, notes, seconds } = item
  const values = [
    kind,
    source_id,
    object_id,
    title,
    state,
    reason,
    notes.join(' '),
    item.total_bytes ?? item.bytes,
    seconds,
  ]
  return `${values.map(formatValue).join(',')}\r\n`
}

function formatValue(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  // Spreadsheets would run a title that begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
