import { element } from '../element.ts'
import { icon } from '../status-screen.ts'

const closeIcon = 'M6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z'

const shortcuts: [keys: string[], text: string][] = [
  [['Space', 'K'], 'Play or pause'],
  [['←', 'J'], 'Back 10 seconds'],
  [['→', 'L'], 'Forward 10 seconds'],
  [['0–9'], 'Jump to 0–90%'],
  [['Home'], 'Go to start'],
  [['End'], 'Go to end'],
  [[',', '.'], 'Previous or next frame while paused'],
  [['<', '>'], 'Slower or faster'],
  [['↑', '↓'], 'Volume up or down'],
  [['M'], 'Mute'],
  [['C'], 'Captions'],
  [['F'], 'Fullscreen'],
  [['P'], 'Picture in picture'],
  [['?'], 'Keyboard shortcuts'],
]

/** Shows the list of shortcuts. A modal dialog of the browser returns the focus when it is closed. */
export function openShortcuts(): void {
  const rows = shortcuts.map(([keys, text]) => {
    const names = keys.map((key) => element('kbd', {}, key))
    return element('div', {}, element('dt', {}, ...names), element('dd', {}, text))
  })
  const close = element('button', { class: 'close', 'aria-label': 'Close' })
  close.append(icon(closeIcon))
  const content = element(
    'div',
    {},
    element('header', {}, element('h2', { id: 'shortcuts-title' }, 'Keyboard shortcuts'), close),
    element('dl', {}, ...rows),
  )
  const dialog = element(
    'dialog',
    { class: 'shortcuts', 'aria-labelledby': 'shortcuts-title' },
    content,
  ) as HTMLDialogElement
  close.addEventListener('click', () => dialog.close())
  // The content covers the dialog, so only a click on the backdrop has the dialog as its target.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  dialog.addEventListener('keydown', ({ key }) => key === '?' && dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.querySelector('.shortcuts')?.remove()
  document.body.append(dialog)
  dialog.showModal()
}
