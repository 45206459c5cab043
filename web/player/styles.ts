import live from './live.css?inline'
import shortcuts from './shortcuts.css?inline'
import style from './style.css?inline'
import touch from './touch.css?inline'

/** The styles are part of the script, because a file would be another request before the first frame. */
export function applyStyles(): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style + shortcuts + touch + live)
  document.adoptedStyleSheets = [sheet]
}
