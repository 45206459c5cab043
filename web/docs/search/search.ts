import './search.css'
import { readUsesShortcuts } from '../../shared/shortcuts-setting.ts'
import { create } from '../create.ts'
import { type Entry, escapeWord, type Found, find, wordsOf } from './find.ts'

let entries: Promise<Entry[]> | undefined

/** The browser caches the list. After a failure, the next search loads it again. */
function loadEntries(): Promise<Entry[]> {
  entries ??= fetch('/docs/search.json')
    .then((response) => response.json())
    .catch(() => {
      entries = undefined
      return []
    })
  return entries
}

/** The button of the header, `/` and Ctrl+K open the search. */
export function startSearch(): void {
  let search: Search | undefined
  const open = () => {
    search ??= new Search()
    search.open()
  }
  document.querySelector('#search')?.addEventListener('click', open)
  const onKeyDown = (event: KeyboardEvent) => {
    const isCommand = (event.ctrlKey || event.metaKey) && event.key === 'k'
    const isSlash = event.key === '/' && readUsesShortcuts() && !isTyping(event)
    if (!isCommand && !isSlash) return
    event.preventDefault()
    event.stopPropagation()
    open()
  }
  addEventListener('keydown', onKeyDown, { capture: true })
}

const isTyping = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent) =>
  ctrlKey ||
  metaKey ||
  altKey ||
  (target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)))

class Search {
  readonly #list = create('div', { id: 'search-results', role: 'listbox', 'aria-label': 'Results' })
  readonly #status = create('p', { role: 'status', class: 'status' })
  readonly #input = create('input', {
    type: 'text',
    role: 'combobox',
    placeholder: 'Search guides, operations and errors',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Search the docs',
    'aria-controls': 'search-results',
    'aria-expanded': 'true',
  })
  readonly #dialog = create('dialog', { class: 'search', 'aria-label': 'Search' }, [
    this.#input,
    this.#list,
    this.#status,
  ])
  #selected = 0

  constructor() {
    this.#input.addEventListener('input', () => this.#update())
    this.#input.addEventListener('keydown', (event) => this.#onKeyDown(event))
    this.#dialog.addEventListener('click', ({ target }) => {
      // The backdrop belongs to the dialog. A link to a section of this page leaves the page open.
      if (target === this.#dialog || (target as Element).closest('a')) this.#dialog.close()
    })
    document.body.append(this.#dialog)
  }

  open(): void {
    if (this.#dialog.open) return
    this.#dialog.showModal()
    this.#input.select()
    void this.#update()
  }

  async #update(): Promise<void> {
    const query = this.#input.value
    const found = find(await loadEntries(), query)
    if (query !== this.#input.value) return
    this.#list.replaceChildren(...groupsOf(found, wordsOf(query)))
    this.#status.textContent = found.length === 0 && query.trim() !== '' ? 'Nothing found' : ''
    this.#select(0)
  }

  get #options() {
    return [...this.#list.querySelectorAll<HTMLElement>('[role=option]')]
  }

  #select(index: number): void {
    const options = this.#options
    this.#selected = options.length > 0 ? (index + options.length) % options.length : 0
    for (const [i, option] of options.entries()) {
      option.id = `search-${i}`
      option.setAttribute('aria-selected', String(i === this.#selected))
    }
    options[this.#selected]?.scrollIntoView({ block: 'nearest' })
    if (options.length > 0) this.#input.setAttribute('aria-activedescendant', `search-${this.#selected}`)
    else this.#input.removeAttribute('aria-activedescendant')
  }

  #onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) this.#select(this.#selected + step)
    else if (event.key === 'Enter') this.#options[this.#selected]?.click()
    else return
    event.preventDefault()
  }
}

function groupsOf(found: Found[], words: string[]): HTMLElement[] {
  const names = [...new Set(found.map(({ group }) => group))]
  return names.map((name) =>
    create('div', { role: 'group', 'aria-label': name }, [
      create('p', { 'aria-hidden': 'true' }, [name]),
      ...found.filter(({ group }) => group === name).map((each) => optionOf(each, words)),
    ]),
  )
}

const optionOf = ({ title, detail, url, snippet }: Found, words: string[]) =>
  create('a', { role: 'option', href: url, tabindex: '-1' }, [
    create('span', { class: 'title' }, marked(title, words)),
    create('span', { class: 'detail' }, marked(detail, words)),
    create('span', { class: 'snippet' }, marked(snippet, words)),
  ])

/** The text with the words marked. */
function marked(text: string, words: string[]): (Node | string)[] {
  const pattern = new RegExp(`(${words.map(escapeWord).join('|')})`, 'i')
  return text.split(pattern).map((part, i) => (i % 2 === 1 ? create('mark', {}, [part]) : part))
}
