import { useMutation } from '@tanstack/react-query'
import { messages } from '../../messages/messages.ts'
import { IconButton } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { saveFile } from '../../ui/save-file.ts'
import { showError, showToast } from '../../ui/toast-list.ts'
import { type Sheet, toCsv } from './csv.ts'

/** File systems do not accept every character. */
const fileName = (name: string) => `${name.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '')}.csv`

function download(name: string, { header, rows, total = 0 }: Sheet): void {
  // The mark makes spreadsheets read it as UTF-8.
  saveFile(fileName(name), ['\ufeff', toCsv([header, ...rows])], 'text/csv;charset=utf-8')
  if (total > rows.length) showToast(messages.viewers.csvCut(formatNumber(rows.length), formatNumber(total)))
}

type CsvButtonProps = { name: string; load(): Sheet | Promise<Sheet> }

export function CsvButton({ name, load }: CsvButtonProps) {
  const save = useMutation({ mutationFn: async () => download(name, await load()), onError: showError })
  return (
    <IconButton
      icon="download"
      label={messages.viewers.csvOf(name)}
      disabled={save.isPending}
      onClick={() => save.mutate()}
    />
  )
}
