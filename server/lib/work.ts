import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findOwner, newOwnedName } from './owner.ts'

const rootOf = (dataDir: string) => join(dataDir, 'work')

/** A path for temporary files, which is not created here. Whoever creates the folder removes it. */
export const newWorkFolder = (dataDir: string) => join(rootOf(dataDir), newOwnedName())

/** Processes on other hosts cannot be looked up, and no job writes nothing for so long. */
const untouchedMs = 24 * 3_600_000

/** Removes the work folders of processes that no longer run. */
export async function clearWork(dataDir: string, now: Date): Promise<void> {
  const root = rootOf(dataDir)
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name)
    const owner = await findOwner(name)
    const isLeft = owner === 'dead' || (owner === 'unknown' && (await isUntouched(folder, now)))
    if (!isLeft) continue
    // An ffmpeg that outlived its parent may create a file meanwhile: then the next run removes the folder.
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

async function isUntouched(folder: string, now: Date): Promise<boolean> {
  const names = await readdir(folder).catch(() => [])
  const found = await Promise.all(
    [folder, ...names.map((name) => join(folder, name))].map((path) => stat(path).catch(() => undefined)),
  )
  const newest = Math.max(0, ...found.map((each) => each?.mtimeMs ?? 0))
  return newest > 0 && now.getTime() - newest > untouchedMs
}
