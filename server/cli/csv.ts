/** The rows of a CSV file (RFC 4180) with commas. Empty lines are left out. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  // A field, quoted or not, and what ends it.
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y
  const content = text.replace(/^\uFEFF/, '')
  while (field.lastIndex < content.length) {
    const at = field.lastIndex
    const [, quoted, plain = '', end] = field.exec(content) ?? []
    if (end === undefined) throw new SyntaxError(`the quotes after character ${at} are not closed`)
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',' && field.lastIndex < content.length) continue
    if (end === ',') row.push('')
    if (row.some((value) => value !== '')) rows.push(row)
    row = []
  }
  return rows
}
