export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'kinora-theme'

export function readTheme(): Theme {
  const stored = localStorage.getItem(storageKey)
  return themes.find((each) => each === stored) ?? 'system'
}

/** Without a choice, style/tokens.css follows the system. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(storageKey)
  else localStorage.setItem(storageKey, theme)
  applyTheme(theme)
}
