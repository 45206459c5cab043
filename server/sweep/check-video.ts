import type { Context } from '../context.ts'
import { finishLock } from '../encoding/locks.ts'
import { exclusively } from '../lib/db.ts'
import { thumbnailsLock } from '../thumbnails/locks.ts'
import { videoFolder } from '../videos/files.ts'
import type { Sweep } from './findings.ts'
import { classifyFile, expectedFiles } from './known-files.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'locks' | 'files' | 'now'>

/** The maximum number of missing files that are reported for a video. */
const maxMissing = 100

/** Compares the files of a video with its rows, in both directions. Returns the number of files. */
export async function checkVideo(deps: Deps, sweep: Sweep, videoId: string): Promise<number> {
  const found = new Set<string>()
  const emptyFolders: string[] = []
  for await (const key of deps.files.list(videoFolder(videoId), (folder) => emptyFolders.push(folder)))
    found.add(key)
  // The rows are read after the files are listed: a listed file without a row will never get one.
  const known = await store.findKnownFiles(deps.db, videoId)
  if (!known) return found.size
  const orphans = [...found].filter((key) => classifyFile(videoId, key, known) === 'orphan')
  if (orphans.length > 0) await removeOrphans(deps, sweep, videoId, orphans)
  const expected = expectedFiles(videoId, known).filter((key) => !found.has(key))
  await reportMissing(deps, sweep, videoId, expected.take(maxMissing))
  if (sweep.removes) for (const folder of emptyFolders) await deps.files.removeEmptyFolder(folder)
  return found.size
}

async function removeOrphans(deps: Deps, sweep: Sweep, videoId: string, keys: string[]): Promise<void> {
  const { db, locks, files, now } = deps
  const old: { key: string; size: number }[] = []
  for (const key of keys) {
    const found = await files.stat(key)
    if (found && now().getTime() - found.modified.getTime() >= sweep.graceMs)
      old.push({ key, size: found.size })
  }
  const remove = async () => {
    const known = await store.findKnownFiles(db, videoId)
    const orphans = old.filter(({ key }) => known && classifyFile(videoId, key, known) === 'orphan')
    for (const { key, size } of orphans) {
      if (sweep.removes) await files.remove(key)
      sweep.report({ kind: 'orphans', key, files: 1, bytes: size, isRemoved: sweep.removes })
    }
  }
  if (old.length === 0) return
  // While a job of the video holds its lock, the next pass handles its files.
  await exclusively(locks, finishLock(videoId), async () => {
    await exclusively(locks, thumbnailsLock(videoId), remove)
  })
}

async function reportMissing(
  { db, files }: Deps,
  sweep: Sweep,
  videoId: string,
  unlisted: Iterable<string>,
): Promise<void> {
  const absent: string[] = []
  // A file may have been stored after the files were listed.
  for (const key of unlisted) if (!(await files.stat(key))) absent.push(key)
  if (absent.length === 0) return
  // A file may have been removed since, together with its row.
  const known = await store.findKnownFiles(db, videoId)
  const expected = new Set(known && expectedFiles(videoId, known))
  const keys = absent.filter((key) => expected.has(key))
  if (keys.length > 0) sweep.report({ kind: 'missing', videoId, files: keys.length, keys })
}
