import { applyTheme, chooseTheme, readTheme, type Theme } from '../shared/theme.ts'

/** The choice in the header. It is the same setting as in the dashboard, which may be open in another tab. */
export function startThemeChoice(): void {
  const select = document.querySelector<HTMLSelectElement>('#theme')
  if (!select) return
  select.value = readTheme()
  select.addEventListener('change', () => chooseTheme(select.value as Theme))
  addEventListener('storage', () => {
    applyTheme(readTheme())
    select.value = readTheme()
  })
}
