export type Cell = string | number | null

/** Spreadsheets run cells that begin like this as a formula. */
const formula = /^[=+\-@\t\r]/

/** A text that comes from viewers must not become a formula. Numbers stay as they are. */
function writeCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const text = formula.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A file as RFC 4180 describes it. */
export const toCsv = (rows: Cell[][]) => rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')
