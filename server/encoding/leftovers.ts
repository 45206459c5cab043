import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../contracts/context.ts'
import { knownKeyOf } from '../contracts/segment-files.ts'
import * as store from './store.ts'

/** Longer than an ffmpeg that hangs is waited for at the most. */
const staleAfterMs = 2 * 3_600_000

/**
 * Files of a video that nobody knows of: of workers that were killed between storing and noting, of qualities that
 * failed, of an MP4 that was replaced. Those of a worker that is only late are removed by itself, too.
 */
export async function removeStrays(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<void> {
  const found = new Set<string>()
  for (const folder of ['hls', 'mp4'])
    for await (const key of files.list(`videos/${videoId}/${folder}`)) found.add(knownKeyOf(key))
  // Asked afterwards: what was there before and is not known now never will be.
  const known = await store.listKeys(db, videoId)
  if (!known) return
  for (const key of found) if (!known.has(key)) await files.remove(key)
}

/** What ffmpegs of killed processes have written. */
export async function removeStaleWork({ config, now }: Pick<Context, 'config' | 'now'>): Promise<void> {
  const work = join(config.dataDir, 'work')
  const ageOf = async (path: string) =>
    now().getTime() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0)
  for (const name of await readdir(work).catch(() => [])) {
    const folder = join(work, name)
    const paths = (await readdir(folder).catch(() => [])).map((each) => join(folder, each))
    const ages = await Promise.all([folder, ...paths].map(ageOf))
    if (Math.min(...ages) > staleAfterMs) await rm(folder, { recursive: true, force: true })
  }
}
