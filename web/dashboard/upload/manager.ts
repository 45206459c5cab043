import type { Environment } from '../api/client.ts'
import { messages } from '../messages/messages.ts'
import { checkFile } from './check-file.ts'
import { type Entry, isSameFile, newEntry, requestFile, restoredEntry, type UploadOptions } from './entry.ts'
import { own } from './ownership.ts'
import type { Drop } from './picked-files.ts'
import { UploadRunner } from './runner.ts'
import { loadUploads } from './storage.ts'
import { readOffset, removeUpload } from './transfer.ts'
import type { PickedFile, Upload } from './types.ts'
import { UploadList } from './upload-list.ts'

type Outcome = { state: 'ready' } | { state: 'failed'; message: string }

/** What can be done with uploads. They go on whatever view is shown, until the page is closed. */
export class UploadManager {
  readonly #list = new UploadList()
  readonly #runner = new UploadRunner(this.#list)
  #restored: Promise<void> | undefined

  readonly all = this.#list.uploads

  /** Begins to upload files. Returns the ids of the uploads, in the order of the files. Only one file can have a target. */
  addFiles(environment: Environment, files: PickedFile[], options: UploadOptions = {}): string[] {
    const entries = files.map(
      (picked) =>
        this.#findInterrupted(environment, picked, options.target) ??
        newEntry(environment, picked, { ...options, problem: checkFile(picked.file) }),
    )
    this.#list.add(entries)
    const valid = entries.filter(({ view }) => view.state === 'waiting')
    for (const entry of valid) void this.#own(entry)
    this.#list.save(valid)
    this.#runner.pump()
    return entries.map(({ view }) => view.id)
  }

  /** Begins to upload what was dropped. Folders are listed with the reason why they are not uploaded. */
  addDrop(environment: Environment, { files, folders }: Drop): void {
    const rejected = folders.map((name) =>
      newEntry(environment, { file: new File([], name) }, { problem: messages.upload.folder }),
    )
    this.#list.add(rejected)
    this.addFiles(environment, files)
  }

  /** Continues what an earlier page, or a session that has ended, has left. */
  restore(): Promise<void> {
    this.#restored ??= this.#restore()
    this.#wake()
    return this.#restored
  }

  pause(id: string): void {
    const entry = this.#list.get(id)
    if (!entry) return
    void this.#runner.halt(entry)
    this.#list.change(entry, { state: 'paused', message: undefined })
    this.#list.save([entry])
    this.#runner.pump()
  }

  /** Continues an upload that is paused, interrupted or failed. May ask for the permission to read the file. */
  async resume(id: string): Promise<void> {
    const entry = this.#list.get(id)
    if (!entry) return
    if (entry.view.needs === 'permission') {
      entry.file = await requestFile(entry.handle!, entry.view)
      if (!entry.file) return this.#list.change(entry, { needs: 'file', message: messages.upload.noAccess })
    }
    if (!entry.file) return this.#list.change(entry, { needs: 'file' })
    entry.failures = 0
    this.#runner.enqueue(entry)
    this.#runner.pump()
  }

  /** Gives an upload its file again after a reload. Another file is refused, and the upload says so. */
  provideFile(id: string, { file, handle }: PickedFile): void {
    const entry = this.#list.get(id)
    if (!entry) return
    if (!isSameFile(file, entry.view)) {
      this.#list.change(entry, { message: messages.upload.otherFile(entry.view.name) })
      return
    }
    Object.assign(entry, { file, handle })
    entry.view = { ...entry.view, needs: undefined }
    void this.resume(id)
  }

  /** Ends an upload and deletes its video. Rejects if the server cannot be told. */
  async cancel(id: string): Promise<void> {
    const entry = this.#list.get(id)
    if (!entry) return
    this.#list.change(entry, { state: 'paused' })
    await this.#runner.halt(entry)
    if (entry.url) await removeUpload(entry.url)
    this.dismiss(id)
    this.#runner.pump()
  }

  /** Removes uploads from the list. */
  dismiss(...ids: string[]): void {
    this.#list.remove(ids)
  }

  /** Notes how far the server is with a video. */
  noteEncoding(id: string, { encoded, isPlayable }: Pick<Upload, 'encoded' | 'isPlayable'>): void {
    const entry = this.#list.get(id)
    if (!entry || (entry.view.encoded === encoded && entry.view.isPlayable === isPlayable)) return
    this.#list.changeOften(entry, { encoded, isPlayable })
  }

  /** Notes what became of a video that was processed. */
  settle(id: string, outcome: Outcome): void {
    const entry = this.#list.get(id)
    if (entry?.view.state === 'processing') this.#list.change(entry, { ...outcome, canRetry: false })
  }

  async #restore(): Promise<void> {
    window.addEventListener('online', this.#wake)
    const entries: Entry[] = []
    for (const stored of await loadUploads()) {
      const release = this.#list.get(stored.id) ? undefined : await own(stored.id)
      if (release) entries.push({ ...(await restoredEntry(stored)), release })
    }
    this.#list.add(entries)
    this.#runner.pump()
    // Those that continue find out by themselves.
    const stopped = entries.filter(({ view }) => view.state === 'paused' || view.needs)
    for (const entry of stopped)
      if (entry.url) this.#list.change(entry, { sent: await readOffset(entry.url) })
  }

  /** Tries interrupted uploads now. */
  #wake = () => {
    for (const entry of this.#list.all())
      if (entry.view.state === 'interrupted' && !entry.view.needs) this.#runner.enqueue(entry)
    this.#runner.pump()
  }

  /** A file that is dropped again continues its upload. */
  #findInterrupted(
    environment: Environment,
    { file, handle }: PickedFile,
    target: string | undefined,
  ): Entry | undefined {
    const entry = this.#list
      .all()
      .find(
        ({ view }) =>
          view.needs &&
          view.environment === environment &&
          (target === undefined || view.videoId === target) &&
          isSameFile(file, view),
      )
    if (!entry) return undefined
    Object.assign(entry, { file, handle })
    entry.view = { ...entry.view, state: 'waiting', needs: undefined, message: undefined }
    return entry
  }

  async #own(entry: Entry): Promise<void> {
    const release = await own(entry.view.id)
    if (release && !this.#list.has(entry)) release()
    else if (release) entry.release = release
  }
}
