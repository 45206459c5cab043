import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { notFound } from '../lib/errors.ts'
import { withWorkFolder } from '../lib/work.ts'
import { convertImage } from '../media/image-upload.ts'
import { thumbnailArgs } from '../media/images.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import { newThumbnailKey, thumbnailPrefix } from '../videos/files.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'space'>

const formats = ['jpeg', 'png', 'webp'] as const

/** Converts an image and makes it the thumbnail. `write` writes it into the folder and returns its path. */
export async function receiveThumbnail(
  deps: Deps,
  limit: ConcurrencyLimit,
  videoId: string,
  write: (folder: string) => Promise<string>,
): Promise<void> {
  const { ffmpeg, encodeStallMs: stallMs } = deps.config
  await withWorkFolder(deps, async (folder) => {
    const upload = await write(folder)
    const output = join(folder, 'thumbnail.jpg')
    await convertImage({ ffmpeg, stallMs, limit, formats }, upload, (image) => thumbnailArgs(image, output))
    await storeThumbnail(deps, videoId, output)
  })
}

async function storeThumbnail(deps: Deps, videoId: string, path: string): Promise<void> {
  const { db, files, queue } = deps
  const key = newThumbnailKey(thumbnailPrefix(videoId, 'uploaded'))
  await store.startUpload(db, videoId, key)
  const { size: bytes } = await files.put(key, createReadStream(path))
  const isRecorded = await db.transaction().execute(async (trx) => {
    if (!(await store.recordUpload(trx, videoId, { key, bytes }))) return false
    // The job removes the previous thumbnail.
    await queue.send(trx, 'make-pictures', { videoId })
    return true
  })
  if (isRecorded) return
  if (await removeIfDeleted(deps, videoId)) throw notFound('videoId')
  // A later request for another thumbnail wins.
  await files.remove(key)
}
