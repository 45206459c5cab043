import { opendir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from './disk-io.ts'

/** The keys of all files below a folder, in no particular order. Holds one folder's entries at a time. */
export async function* listFiles(
  root: string,
  prefix: string,
  onEmptyFolder?: (folder: string) => void,
): AsyncGenerator<string> {
  const waiting = [prefix]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await ifThere(readdir(join(root, folder), { withFileTypes: true }))
    if (entries?.length === 0) onEmptyFolder?.(folder)
    for (const entry of entries ?? []) {
      const key = `${folder}/${entry.name}`
      if (entry.isDirectory()) waiting.push(key)
      else if (entry.isFile()) yield key
    }
  }
}

/** The first names after `after`. Memory is for twice as many names, however many the folder has. */
export async function listFirstNames(folder: string, after: string, limit: number): Promise<string[]> {
  const entries = await ifThere(opendir(folder, { bufferSize: 1_000 }))
  const first = (names: string[]) => names.sort().slice(0, limit)
  let names: string[] = []
  for await (const { name } of entries ?? []) {
    if (name <= after) continue
    names.push(name)
    if (names.length >= 2 * limit) names = first(names)
  }
  return first(names)
}
