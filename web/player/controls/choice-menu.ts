import type { MediaChromeMenuItem } from 'media-chrome/dist/menu/media-chrome-menu-item.js'
import 'media-chrome/dist/menu/media-chrome-menu-button.js'
import { MediaSettingsMenu } from 'media-chrome/dist/menu/media-settings-menu.js'
import 'media-chrome/dist/menu/media-settings-menu-item.js'
import { element } from '../element.ts'
import { labelHeader } from './menu-header.ts'

export type Choice = { value: string; label: string; lang?: string; description?: string }

const itemSelector = 'media-chrome-menu-item, media-settings-menu-item'

/** A menu of choices in a list that scrolls, followed by items that open submenus. */
export class ChoiceMenu extends MediaSettingsMenu {
  /** Called when the viewer selects an item, even if it is already selected. */
  onChoose: (value: string) => void = () => {}
  readonly list = element('div', { class: 'choices', role: 'group' })

  override get items(): MediaChromeMenuItem[] {
    const isOwn = (item: Element) => item.parentElement === this || item.parentElement === this.list
    return [...this.querySelectorAll<MediaChromeMenuItem>(itemSelector)].filter(isOwn)
  }

  override handleSelect(event: MouseEvent | KeyboardEvent): void {
    super.handleSelect(event)
    const target = event.composedPath().find((each) => this.items.includes(each as MediaChromeMenuItem))
    const item = target as MediaChromeMenuItem | undefined
    if (item?.type === 'radio') this.onChoose(item.value)
  }

  /** Starts at the selected item. */
  override focus(): void {
    super.focus()
    this.checkedItems[0]?.focus()
  }

  setChoices(choices: Choice[], selected: string): void {
    const items = choices.map(({ value, label, lang, description }) => {
      // The direction of each name is that of its own language.
      const name = element('bdi', lang ? { lang } : {}, label)
      const item = element('media-chrome-menu-item', { type: 'radio', value }, name)
      if (description) item.append(element('span', { slot: 'description' }, description))
      return item
    })
    this.list.replaceChildren(...items)
    this.prepend(this.list)
    this.select(selected)
  }

  /** Unlike a choice of the viewer, this does not call `onChoose`. */
  select(value: string): void {
    for (const item of this.items) if (item.type === 'radio') item.checked = item.value === value
  }
}
customElements.define('choice-menu', ChoiceMenu)

export function createChoiceMenu(name: string, attributes: Record<string, string> = {}): ChoiceMenu {
  const menu = element('choice-menu', { hidden: '', 'aria-label': name, ...attributes }) as ChoiceMenu
  labelHeader(menu, name)
  return menu
}

/** The button in the control bar that opens a menu. */
export function menuButton(
  menu: ChoiceMenu,
  { name, control, content }: { name: string; control: string; content: Node },
): HTMLElement {
  const id = `${control}-menu`
  menu.id = id
  menu.setAttribute('anchor', `${control}-button`)
  const attributes = {
    id: `${control}-button`,
    invoketarget: id,
    'aria-label': name,
    'data-control': control,
  }
  const tooltip = element('span', { slot: 'tooltip-content' }, name)
  return element('media-chrome-menu-button', attributes, content, tooltip)
}
