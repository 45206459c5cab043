import { type Choice, type ChoiceMenu, createChoiceMenu, menuButton } from '../controls/choice-menu.ts'
import { element } from '../element.ts'
import type { Caption } from '../player-config.ts'
import type { CaptionPreferences } from '../preferences.ts'
import { icon } from '../status-screen.ts'

const captionsIcon =
  'M4 4h16a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V6c0-1.1.9-2 2-2m1 7v2h4v-2zm6 0v2h8v-2zm-6 4v2h9v-2zm11 0v2h3v-2z'

const sizes: Choice[] = [
  { value: '0.75', label: '75%' },
  { value: '1', label: '100%' },
  { value: '1.5', label: '150%' },
  { value: '2', label: '200%' },
]
const backgrounds: Choice[] = [
  { value: 'dim', label: 'Dim' },
  { value: 'solid', label: 'Solid' },
  { value: 'none', label: 'None' },
]
const defaults = { size: '1', background: 'dim' }

export type CaptionMenu = {
  button: HTMLElement
  menu: HTMLElement
  /** Marks the shown language. Undefined means that captions are off. */
  select(language: string | undefined): void
  applyStyle(controller: HTMLElement, preferences: CaptionPreferences): void
}

type Callbacks = {
  onLanguage(language: string): void
  onStyle(style: Pick<CaptionPreferences, 'size' | 'background'>): void
}

/** The button and the menu: languages, then the size and the background of the text. */
export function createCaptionMenu(
  captions: Caption[],
  preferences: CaptionPreferences,
  { onLanguage, onStyle }: Callbacks,
): CaptionMenu {
  const menu = createChoiceMenu('Captions')
  const languages = captions.map(({ srclang, label }) => ({ value: srclang, label, lang: srclang }))
  menu.setChoices([{ value: 'off', label: 'Off' }, ...languages], 'off')
  menu.onChoose = onLanguage
  const { size, background } = styleOf(preferences)
  menu.append(
    submenu('Size', sizes, size, (value) => onStyle({ size: value })),
    submenu('Background', backgrounds, background, (value) => onStyle({ background: value })),
  )
  const button = menuButton(menu, { name: 'Captions', control: 'subtitles', content: icon(captionsIcon) })
  return {
    button,
    menu,
    select(language) {
      menu.select(language ?? 'off')
      button.classList.toggle('on', language !== undefined)
    },
    applyStyle(controller, preferences) {
      const { size, background } = styleOf(preferences)
      controller.style.setProperty('--caption-scale', size)
      controller.dataset.captionBackground = background
    },
  }
}

function submenu(
  label: string,
  choices: Choice[],
  selected: string,
  onChoose: ChoiceMenu['onChoose'],
): HTMLElement {
  const menu = createChoiceMenu(label, { slot: 'submenu' })
  menu.append(element('div', { slot: 'title' }, label))
  menu.setChoices(choices, selected)
  menu.onChoose = onChoose
  return element('media-settings-menu-item', {}, label, menu)
}

/** Stored preferences are untrusted: an unknown value is replaced by the default. */
function styleOf({ size, background }: CaptionPreferences): typeof defaults {
  const known = (choices: Choice[], value: string | undefined, byDefault: string) =>
    choices.some((choice) => choice.value === value) ? (value as string) : byDefault
  return {
    size: known(sizes, size, defaults.size),
    background: known(backgrounds, background, defaults.background),
  }
}
