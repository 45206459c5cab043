import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, fileErrors, httpErrors, notFound } from '../lib/errors.ts'
import { FileStoreError } from '../lib/files/files.ts'
import { readMultipart } from '../lib/multipart.ts'
import { RunError } from '../lib/run.ts'
import { withWorkFolder } from '../lib/work.ts'
import { blameOf, failureOf } from '../media/failure.ts'
import { runFfmpeg } from '../media/ffmpeg.ts'
import { imageArgs, imageFormatOf, orientationOf } from '../media/images.ts'
import { newThumbnailKey, thumbnailPrefix } from '../renditions/files.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue'>

const maxBytes = 8 * 1024 * 1024
/** A usual image takes 0.1 s. */
const cpuSeconds = 20
/** Cameras write the orientation first, at most after a small preview. */
const headBytes = 128 * 1024

/** A crafted image can make ffmpeg use hundreds of megabytes, so two run at once and few wait. */
export const createImageLimit = () => createConcurrencyLimit(2, 20)

/** Converts an uploaded image and makes it the thumbnail. */
export async function receiveThumbnail(
  deps: Deps,
  limit: ConcurrencyLimit,
  videoId: string,
  request: IncomingMessage,
): Promise<void> {
  await withWorkFolder(deps.config.dataDir, async (folder) => {
    const input = join(folder, 'upload')
    await readMultipart(request, ({ stream }) => spool(stream, input))
    const output = join(folder, 'thumbnail.jpg')
    const made = limit.run(() => makeJpeg(deps, input, output))
    if (!made) throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '2' } })
    await made
    await storeThumbnail(deps, videoId, output)
  })
}

async function spool(stream: Readable, path: string): Promise<void> {
  let size = 0
  async function* limited() {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > maxBytes) {
        const title = `The file has more than ${maxBytes / 1024 ** 2} MiB.`
        throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
      }
      yield chunk
    }
  }
  try {
    await pipeline(limited, createWriteStream(path))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? new FileStoreError('full', error) : error
  }
  if (size === 0) throw new ApiError(fileErrors.empty, { name: 'file' })
}

/** Viewers never receive the uploaded bytes, only a JPEG that ffmpeg made from them. */
async function makeJpeg({ config }: Deps, input: string, output: string): Promise<void> {
  const head = await readHead(input)
  const format = imageFormatOf(head)
  if (!format) {
    const title = 'The file is not a JPEG, PNG or WebP image.'
    throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
  }
  const orientation = format === 'jpeg' ? orientationOf(head) : 1
  const tools = { ffmpeg: config.ffmpeg, stallMs: config.encodeStallMs }
  try {
    await runFfmpeg(tools, imageArgs({ input, format, orientation, output }), { limits: { cpuSeconds } })
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    if (/No space left on device/.test(error.stderr)) throw new FileStoreError('full', error)
    const failure = failureOf(error)
    if (failure === 'host') throw error
    // An image that crashes the decoder does so every time.
    if (blameOf(error) === 'environment' && failure !== 'crashed')
      throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '5' }, cause: error })
    const title = 'The image cannot be read: it is damaged, incomplete or too large.'
    throw new ApiError(fileErrors.invalid, { title, name: 'file', cause: error })
  }
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.subarray(0, bytesRead)
}

async function storeThumbnail(deps: Deps, videoId: string, path: string): Promise<void> {
  const { db, files, queue } = deps
  const key = newThumbnailKey(thumbnailPrefix(videoId, 'uploaded'))
  await store.startUpload(db, videoId, key)
  await files.put(key, createReadStream(path))
  const isRecorded = await db.transaction().execute(async (trx) => {
    if (!(await store.recordUpload(trx, videoId, key))) return false
    // The job removes the previous thumbnail.
    await queue.send(trx, 'make-pictures', { videoId })
    return true
  })
  if (isRecorded) return
  if (await removeIfDeleted(deps, videoId)) throw notFound('videoId')
  // A later request for another thumbnail wins.
  await files.remove(key)
}
