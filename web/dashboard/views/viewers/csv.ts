export type Cell = string | number | null

export type Sheet = {
  header: Cell[]
  rows: Cell[][]
  /** How many rows there are. More than in the file if there were too many. */
  total?: number
}

/**
 * Spreadsheets run cells that begin like this as a formula. In some languages they also split cells at semicolons, quoted
 * or not.
 */
const formula = /(^|[;\t])(?=[=+\-@\t\r\n＝＋－＠])/g

/** A text that comes from viewers must not become a formula. Numbers stay as they are. */
function writeCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const text = cell.replace(formula, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A file as RFC 4180 describes it. */
export const toCsv = (rows: Cell[][]) => rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')
