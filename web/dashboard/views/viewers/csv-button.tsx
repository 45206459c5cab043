import { useMutation } from '@tanstack/react-query'
import { texts } from '../../texts/texts.ts'
import { IconButton } from '../../ui/button.tsx'
import { showError } from '../../ui/toast-list.ts'
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

type CsvButtonProps = { name: string; rows(): Cell[][] | Promise<Cell[][]> }

export function CsvButton({ name, rows }: CsvButtonProps) {
  const save = useMutation({ mutationFn: async () => download(name, await rows()), onError: showError })
  return (
    <IconButton
      icon="download"
      label={texts.viewers.csvOf(name)}
      disabled={save.isPending}
      onClick={() => save.mutate()}
    />
  )
}
