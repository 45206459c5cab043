import type { FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { messageOf } from '../lib/database/errors.ts'
import { BackupError } from './errors.ts'
import type { Checksum } from './hashing.ts'

/** A file of a backup. */
export type Entry = Checksum & {
  /** In the destination. */
  path: string
  /** In the file store. */
  key?: string
  /** The chunk of an unfinished upload. */
  chunk?: { videoId: string; position: number }
}

/**
 * The first two names of the path below `files/`, or of an upload: what belongs to one video, broadcast, watermark or
 * upload. Lists of entries are sorted by it, so that they can be compared without reading them into memory.
 */
export const groupOf = ({ path }: Pick<Entry, 'path'>) =>
  path
    .replace(/^files\//, '')
    .split('/', 2)
    .join('/')

const batchLength = 64 * 1024

/** Writes a list. Not a stream, whose errors arrive when nobody waits for them. */
export class EntryWriter {
  readonly #file: FileHandle
  readonly #path: string
  #lines = ''

  constructor(file: FileHandle, path: string) {
    this.#file = file
    this.#path = path
  }

  async add(entry: Entry): Promise<void> {
    this.#lines += `${JSON.stringify(entry)}\n`
    if (this.#lines.length >= batchLength) await this.flush()
  }

  async flush(): Promise<void> {
    const lines = this.#lines
    this.#lines = ''
    await this.#file.appendFile(lines).catch((error) => {
      throw new BackupError(`The list of files could not be written to ${this.#path}: ${messageOf(error)}.`)
    })
  }
}

export async function* readEntries(list: Readable): AsyncGenerator<Entry> {
  for await (const line of createInterface({ input: list, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') yield JSON.parse(line) as Entry
}

/** Reads a sorted list group by group. */
export class EntryGroups {
  readonly #entries: AsyncIterator<Entry>
  #next: Entry | undefined
  #isStarted = false

  constructor(entries: AsyncIterable<Entry>) {
    this.#entries = entries[Symbol.asyncIterator]()
  }

  /** The entries of a group by path. Groups must be taken in their order. */
  async take(group: string): Promise<Map<string, Entry>> {
    if (!this.#isStarted) await this.#advance()
    this.#isStarted = true
    const found = new Map<string, Entry>()
    for (; this.#next && groupOf(this.#next) <= group; await this.#advance())
      if (groupOf(this.#next) === group) found.set(this.#next.path, this.#next)
    return found
  }

  async close(): Promise<void> {
    await this.#entries.return?.()
  }

  async #advance(): Promise<void> {
    const { done, value } = await this.#entries.next()
    this.#next = done ? undefined : value
  }
}
