import { useCallback } from 'react'
import { messages } from '../messages/messages.ts'
import { useCommand } from './commands.ts'
import { useEnvironment } from './environment.ts'
import { isPaletteOpen } from './palette-state.ts'

/** The search of the view, if it has one. Otherwise the palette, which searches too. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-search]')
  if (field) field.select()
  else isPaletteOpen.set(true)
}

/** The keys / and u work on every view. */
export function GlobalCommands() {
  const environment = useEnvironment()
  const upload = useCallback(
    () =>
      void import('../upload/pick-uploads.ts').then(
        ({ pickUploads }) => pickUploads(environment),
        reportError,
      ),
    [environment],
  )
  useCommand({ id: 'search', label: messages.shortcuts.search, key: '/', run: search })
  useCommand({ id: 'upload', label: messages.shortcuts.upload, key: 'u', run: upload })
  return null
}
