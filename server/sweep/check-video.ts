import type { Context } from '../context.ts'
import { exclusively } from '../lib/db.ts'
import { finishLock } from '../renditions/locks.ts'
import { thumbnailsLock } from '../thumbnails/locks.ts'
import type { Sweep } from './findings.ts'
import { expectedFiles, judge } from './known-files.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/** Of one video, so many missing files are looked up and named. */
const maxMissing = 100

/** Compares the files of a video with its rows, in both directions. How many files it has. */
export async function checkVideo(deps: Deps, sweep: Sweep, videoId: string): Promise<number> {
  const found = new Set<string>()
  const emptyFolders: string[] = []
  for await (const key of deps.files.list(`videos/${videoId}`, (folder) => emptyFolders.push(folder)))
    found.add(key)
  // Asked after the files were listed: what is in the list and in no row now is recorded by nobody later.
  const known = await store.findKnownFiles(deps.db, videoId)
  if (!known) return found.size
  const orphans = [...found].filter((key) => judge(videoId, key, known) === 'orphan')
  if (orphans.length > 0) await removeOrphans(deps, sweep, videoId, orphans)
  await reportMissing(deps, sweep, videoId, known, found)
  if (sweep.removes) for (const folder of emptyFolders) await deps.files.removeEmptyFolder(folder)
  return found.size
}

async function removeOrphans(deps: Deps, sweep: Sweep, videoId: string, keys: string[]): Promise<void> {
  const { db, files, now } = deps
  const old: { key: string; size: number }[] = []
  for (const key of keys) {
    const found = await files.stat(key)
    if (found && now().getTime() - found.modified.getTime() >= sweep.graceMs)
      old.push({ key, size: found.size })
  }
  const remove = async () => {
    const known = await store.findKnownFiles(db, videoId)
    const orphans = old.filter(({ key }) => known && judge(videoId, key, known) === 'orphan')
    for (const { key, size } of orphans) {
      if (sweep.removes) await files.remove(key)
      sweep.report({ kind: 'orphans', key, files: 1, bytes: size, isRemoved: sweep.removes })
    }
  }
  if (old.length === 0) return
  // While a job of the video holds its lock, its files are left for the next pass.
  await exclusively(db, finishLock(videoId), async () => {
    await exclusively(db, thumbnailsLock(videoId), remove)
  })
}

async function reportMissing(
  { db, files }: Deps,
  sweep: Sweep,
  videoId: string,
  known: store.KnownFiles,
  found: Set<string>,
): Promise<void> {
  const unseen: string[] = []
  for (const key of expectedFiles(videoId, known)) {
    if (found.has(key)) continue
    unseen.push(key)
    if (unseen.length === maxMissing) break
  }
  const absent: string[] = []
  // It may have been stored after the files were listed.
  for (const key of unseen) if (!(await files.stat(key))) absent.push(key)
  if (absent.length === 0) return
  // Or removed since, together with its row.
  const again = await store.findKnownFiles(db, videoId)
  const expected = new Set(again && expectedFiles(videoId, again))
  const keys = absent.filter((key) => expected.has(key))
  if (keys.length > 0) sweep.report({ kind: 'missing', videoId, files: keys.length, keys })
}
