import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskSpace } from './disk-space.ts'
import { findOwner, newOwnedName } from './owner.ts'

const rootOf = (dataDir: string) => join(dataDir, 'work')

/** The parts of the context that a temporary folder needs. */
export type WorkDeps = { config: { dataDir: string }; space: Pick<DiskSpace, 'checkNew'> }

/**
 * Runs a task with a temporary folder of its own, which is removed when the task ends. Rejects with FileStoreError if the
 * disk is almost full.
 */
export async function withWorkFolder<T>(
  { config, space }: WorkDeps,
  task: (folder: string) => Promise<T>,
): Promise<T> {
  space.checkNew()
  const folder = join(rootOf(config.dataDir), newOwnedName())
  await mkdir(folder, { recursive: true })
  try {
    return await task(folder)
  } finally {
    // A folder that cannot be removed now does not make the task fail. It is removed after this process has ended.
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** Processes on other hosts cannot be looked up. No running task leaves its files untouched for this long. */
const untouchedMs = 24 * 3_600_000

/** Removes the work folders of processes that no longer run. */
export async function removeOrphanedWorkFolders(dataDir: string, now: Date): Promise<void> {
  const root = rootOf(dataDir)
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name)
    const owner = await findOwner(name)
    const isOrphan = owner === 'dead' || (owner === 'unknown' && (await isUntouched(folder, now)))
    if (!isOrphan) continue
    // An ffmpeg that outlived its parent may create a file meanwhile. The next run removes the folder then.
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
