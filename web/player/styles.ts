import shortcuts from './controls/shortcuts.css?inline'
import touch from './controls/touch.css?inline'
import live from './live/live.css?inline'
import style from './style.css?inline'

/** The styles are part of the script, because a file would be another request before the first frame. */
export function applyStyles(): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style + shortcuts + touch + live)
  document.adoptedStyleSheets = [sheet]
}
