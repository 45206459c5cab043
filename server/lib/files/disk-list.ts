import { opendir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from './disk-io.ts'

/** The keys of all files below a folder, in no particular order. Keeps the entries of one folder in memory. */
export async function* listFiles(
  root: string,
  prefix: string,
  onEmptyFolder?: (folder: string) => void,
): AsyncGenerator<string> {
  const folders = [prefix]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await ifExists(readdir(join(root, folder), { withFileTypes: true }))
    if (entries?.length === 0) onEmptyFolder?.(folder)
    for (const entry of entries ?? []) {
      const key = `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(key)
      else if (entry.isFile()) yield key
    }
  }
}

export async function* listSizes(
  root: string,
  prefix: string,
): AsyncGenerator<{ key: string; size: number }> {
  for await (const key of listFiles(root, prefix)) {
    const found = await ifExists(stat(join(root, key)))
    if (found) yield { key, size: found.size }
  }
}

/** The first `limit` names after `after`. Keeps at most twice as many names in memory, however large the folder is. */
export async function listFirstNames(folder: string, after: string, limit: number): Promise<string[]> {
  const entries = await ifExists(opendir(folder, { bufferSize: 1_000 }))
  const first = (names: string[]) => names.sort().slice(0, limit)
  let names: string[] = []
  for await (const { name } of entries ?? []) {
    if (name <= after) continue
    names.push(name)
    if (names.length >= 2 * limit) names = first(names)
  }
  return first(names)
}
