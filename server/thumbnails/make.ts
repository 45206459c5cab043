import type { Context } from '../context.ts'
import { findEncoding } from '../encoding/renditions/encoding-store.ts'
import { exclusively } from '../lib/db.ts'
import { FileNotFoundError } from '../lib/files/files.ts'
import { withWorkFolder } from '../lib/work.ts'
import { isFinalAfter } from '../media/failure.ts'
import type { Tools } from '../media/ffmpeg.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import { knownThumbnailKeyOf, thumbnailFolder } from '../videos/files.ts'
import { thumbnailsLock } from './locks.ts'
import { makeSprites } from './make-sprites.ts'
import { makeThumbnail } from './make-thumbnail.ts'
import { openThumbnails } from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'locks' | 'files' | 'log' | 'space'> & { tools: Tools }

/**
 * The job that makes the thumbnail and the sprites. They are made from the encoded video, which is rotated, clipped and
 * watermarked. A second run changes nothing.
 */
export async function makeThumbnails(
  deps: Deps,
  { videoId }: { videoId: string },
  retries = 0,
): Promise<void> {
  // Concurrent runs would delete each other's uncommitted files.
  const isOurs = await exclusively(deps.locks, thumbnailsLock(videoId), () => make(deps, videoId, retries))
  if (!isOurs) throw new Error(`another job is creating the thumbnails of ${videoId}`)
}

/**
 * The job that makes a thumbnail from the beginning of a video that has just become playable. Its successor at the end of
 * the encoding chooses a frame of the entire video. A second run changes nothing.
 */
export async function makeFirstThumbnail(
  deps: Deps,
  { videoId }: { videoId: string },
  retries = 0,
): Promise<void> {
  const isOurs = await exclusively(deps.locks, thumbnailsLock(videoId), async () => {
    const row = await openThumbnails(deps.db, videoId)
    const encoding = await findEncoding(deps.db, videoId)
    if (!row) return void (await removeIfDeleted(deps, videoId))
    if (row.thumbnailKey !== null || encoding?.state !== 'encoding' || !encoding.plan) return
    const planned = { ...encoding, plan: encoding.plan }
    await withWorkFolder(deps, (folder) =>
      skipOnFailure(deps, videoId, retries, () => makeThumbnail(deps, row, planned, folder)),
    )
  })
  if (!isOurs) throw new Error(`another job is creating the thumbnails of ${videoId}`)
}

async function make(deps: Deps, videoId: string, retries: number): Promise<void> {
  const row = await openThumbnails(deps.db, videoId)
  const encoding = await findEncoding(deps.db, videoId)
  if (!row) {
    // A job that was killed may have stored files after those of the deleted video were removed.
    await removeIfDeleted(deps, videoId)
    return
  }
  if (encoding?.plan) {
    const planned = { ...encoding, plan: encoding.plan }
    await withWorkFolder(deps, async (folder) => {
      await skipOnFailure(deps, videoId, retries, () => makeThumbnail(deps, row, planned, folder))
      await skipOnFailure(deps, videoId, retries, () => makeSprites(deps, row, planned, folder))
    })
  }
  await removeOrphans(deps, videoId)
}

/**
 * Failures of the file store and a killed ffmpeg are retried. What ffmpeg rejects, it rejects every time, and the video
 * plays without a thumbnail.
 */
async function skipOnFailure(
  { log }: Deps,
  videoId: string,
  retries: number,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    // The video was deleted, or a quality failed, in the meantime.
    if (error instanceof FileNotFoundError) return
    if (!isFinalAfter(error, retries)) throw error
    log.warn({ err: error, videoId }, 'a thumbnail or sprite sheet could not be created')
  }
}

/** Removes replaced thumbnails, and files of jobs and requests that were killed before they recorded them. */
async function removeOrphans(deps: Deps, videoId: string): Promise<void> {
  const found = new Set<string>()
  for await (const file of deps.files.list(thumbnailFolder(videoId)))
    found.add(knownThumbnailKeyOf(videoId, file))
  // Read after the files are listed: no row will refer later to a listed file that is unknown now.
  const row = await openThumbnails(deps.db, videoId)
  if (!row) {
    await removeIfDeleted(deps, videoId)
    return
  }
  const known = [row.thumbnailKey, row.uploadingKey, row.spritesKey]
  for (const key of found) if (!known.includes(key)) await deps.files.remove(key)
}
