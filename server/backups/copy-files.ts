import { FileNotFoundError, type Files } from '../lib/files/files.ts'
import { inParallel } from '../lib/parallel.ts'
import type { Destination } from './destination/destination.ts'
import type { Entry, EntryGroups, EntryWriter } from './entries.ts'
import { BackupError } from './errors.ts'
import { checksumOf, hashed } from './hashing.ts'
import type { Progress } from './progress.ts'
import { type Group, isJoined, type Source } from './sources.ts'

const filesAtOnce = 8

type Copy = {
  files: Files
  destination: Destination
  /** The list of an earlier backup, or of an earlier pass. */
  earlier: EntryGroups
  /** Whether the earlier list was checked against the destination by this process. */
  isEarlierChecked: boolean
  /** Whether files may disappear, because the service is free to remove them. */
  mayDisappear: boolean
  /** Receives the new list. */
  list: EntryWriter
  progress: Progress
}

/** Copies what the destination does not have, and writes the list of all files. */
export async function copyFiles(copy: Copy, groups: AsyncIterable<Group>): Promise<void> {
  for await (const { name, sources } of groups) {
    if (sources.length === 0) continue
    const earlier = await copy.earlier.take(name)
    const stored = copy.isEarlierChecked ? undefined : await listStored(copy.destination, name)
    const entries: Entry[] = []
    await inParallel(sources, filesAtOnce, async (source) => {
      const known = earlier.get(source.path)
      const isStored = known && (stored === undefined || stored.get(source.path) === known.size)
      const entry = isStored ? known : await copySource(copy, source, stored?.get(source.path))
      if (entry) entries.push(entry)
    })
    for (const entry of entries) {
      copy.progress.addFile(entry.size)
      await copy.list.add(entry)
    }
  }
}

async function listStored(destination: Destination, group: string): Promise<Map<string, number>> {
  const stored = new Map<string, number>()
  const prefix = group.startsWith('uploads/') ? group : `files/${group}`
  for await (const { path, size } of destination.list(prefix)) stored.set(path, size)
  return stored
}

/** Undefined if the file was removed meanwhile. */
async function copySource(
  copy: Copy,
  source: Source,
  storedSize: number | undefined,
): Promise<Entry | undefined> {
  const { findSize: _, read: __, ...entry } = source
  try {
    // An interrupted run has copied the file, but its checksum is not known.
    if (storedSize !== undefined && storedSize === (await source.findSize()))
      return { ...entry, ...(await checksumOf(await source.read())) }
    const { body, result } = hashed(await source.read(), (bytes) => copy.progress.addBytes(bytes))
    await copy.destination.put(source.path, body)
    copy.progress.addCopied()
    return { ...entry, ...result() }
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) throw error
    if (copy.mayDisappear || (await isJoined(copy.files, source, error))) return undefined
    throw new BackupError(`A file was removed while it was being copied: ${source.key ?? source.path}.`)
  }
}
