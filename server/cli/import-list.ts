import { readFile } from 'node:fs/promises'
import { parseCsv } from './csv.ts'
import { CommandError } from './errors.ts'
import { checkFile } from './local-file.ts'

const known = ['url', 'title', 'description', 'tags', 'public', 'language']

type Row = Record<string, unknown>

/** The rows of a JSON array, or of a CSV file whose first line names the columns. */
export async function readUrlList(name: string): Promise<Row[]> {
  const { path } = await checkFile(name)
  const text = await readFile(path, 'utf8')
  const rows = /^\s*\[/.test(text) ? readJson(name, text) : readCsv(name, text)
  if (rows.length === 0) throw new CommandError(`${name} has no rows.`)
  return rows
}

function readJson(name: string, text: string): Row[] {
  try {
    const rows = JSON.parse(text) as unknown[]
    return rows.map((row) => (typeof row === 'string' ? { url: row } : (row as Row)))
  } catch {
    throw new CommandError(`${name} is not valid JSON.`)
  }
}

/** Other columns are metadata. */
function readCsv(name: string, text: string): Row[] {
  const [header = [], ...rows] = readRows(name, text)
  const columns = header.map((each) => each.trim())
  if (!columns.includes('url')) throw new CommandError(`${name} has no column "url" in its first line.`)
  return rows.map((values) => {
    const row: Row = {}
    const metadata: { key: string; value: string }[] = []
    for (const [i, column] of columns.entries()) {
      const value = values[i] ?? ''
      if (value === '' || column === '') continue
      if (column === 'tags')
        row.tags = value
          .split(/[,;]/)
          .map((tag) => tag.trim())
          .filter(Boolean)
      else if (column === 'public') row.public = !/^(false|no|0|private)$/i.test(value.trim())
      else if (known.includes(column)) row[column] = value
      else metadata.push({ key: column, value })
    }
    return metadata.length > 0 ? { ...row, metadata } : row
  })
}

function readRows(name: string, text: string): string[][] {
  try {
    return parseCsv(text)
  } catch (error) {
    throw new CommandError(`${name} is not valid CSV: ${(error as Error).message}.`)
  }
}
