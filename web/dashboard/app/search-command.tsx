import { texts } from '../texts/texts.ts'
import { useCommand } from './commands.ts'
import { setPaletteOpen } from './palette-state.ts'

/** The search of the view, if it has one. Otherwise the palette, which searches too. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-search]')
  if (field) field.select()
  else setPaletteOpen(true)
}

/** The key / searches on every view. */
export function SearchCommand() {
  useCommand({ id: 'search', label: texts.shortcuts.search, key: '/', run: search })
  return null
}
