import { texts } from '../../texts/texts.ts'
import { IconButton } from '../../ui/button.tsx'
import { type Cell, toCsv } from './csv.ts'

/** File systems do not accept every character. */
const fileName = (name: string) => `${name.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '')}.csv`

function download(name: string, rows: Cell[][]): void {
  // The mark makes spreadsheets read it as UTF-8.
  const url = URL.createObjectURL(new Blob(['\ufeff', toCsv(rows)], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName(name)
  link.click()
  setTimeout(() => URL.revokeObjectURL(url))
}

type CsvButtonProps = { name: string; rows(): Cell[][] }

export const CsvButton = ({ name, rows }: CsvButtonProps) => (
  <IconButton icon="download" label={texts.viewers.csvOf(name)} onClick={() => download(name, rows())} />
)
