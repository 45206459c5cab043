import { createStore } from '../ui/store.ts'
import { type Entry, storedEntry } from './entry.ts'
import { forgetUploads, saveUploads } from './storage.ts'
import type { Upload } from './types.ts'

/** How often pages are told about progress. */
const progressMs = 250

/** The uploads of this tab, in the order in which they were added. */
export class UploadList {
  readonly #entries = new Map<string, Entry>()
  readonly uploads = createStore<readonly Upload[]>([])
  #progressTimer: ReturnType<typeof setTimeout> | undefined

  get = (id: string) => this.#entries.get(id)
  has = ({ view }: Entry) => this.#entries.get(view.id)?.view.id === view.id
  all = () => [...this.#entries.values()]

  add(entries: Entry[]): void {
    for (const entry of entries) this.#entries.set(entry.view.id, entry)
    this.emit()
  }

  remove(ids: string[]): void {
    for (const id of ids) {
      this.#entries.get(id)?.release()
      this.#entries.delete(id)
    }
    void forgetUploads(ids)
    this.emit()
  }

  change(entry: Entry, change: Partial<Upload>): void {
    entry.view = { ...entry.view, ...change }
    this.emit()
  }

  /** A change that happens many times a second. */
  changeOften(entry: Entry, change: Partial<Upload>): void {
    entry.view = { ...entry.view, ...change }
    this.#progressTimer ??= setTimeout(() => this.emit(), progressMs)
  }

  save(entries: Entry[]): void {
    void saveUploads(entries.filter(this.has).map(storedEntry))
  }

  emit(): void {
    clearTimeout(this.#progressTimer)
    this.#progressTimer = undefined
    const views = this.all().map(({ view }) => view)
    warnBeforeLeaving(views.some(({ state }) => state === 'waiting' || state === 'uploading'))
    this.uploads.set(views)
  }
}

const warn = (event: BeforeUnloadEvent) => event.preventDefault()

/** Leaving the page stops its uploads. */
function warnBeforeLeaving(isNeeded: boolean): void {
  // Adding the same listener again has no effect.
  if (isNeeded) window.addEventListener('beforeunload', warn)
  else window.removeEventListener('beforeunload', warn)
}
