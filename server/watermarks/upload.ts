import { createReadStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, fileErrors } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import { spoolUpload } from '../lib/spool.ts'
import { withWorkFolder } from '../lib/work.ts'
import { readImageSize } from '../media/image-size.ts'
import { convertImage, maxImageBytes, type UploadedImage, unreadableImage } from '../media/image-upload.ts'
import { type Size, uprightSize, watermarkArgs } from '../media/images.ts'
import { MAX_PIXELS, MAX_SIDE } from '../media/limits.ts'
import type { Scope } from '../request.ts'
import { idPrefix, imageKey } from './files.ts'
import { insertWatermark, type Watermark } from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'now' | 'space'>

const formats = ['jpeg', 'png'] as const

/** Converts an uploaded image to PNG and stores it as a new watermark. */
export async function receiveWatermark(
  { config, db, files, now, space }: Deps,
  limit: ConcurrencyLimit,
  { environment }: Scope,
  request: IncomingMessage,
): Promise<Watermark> {
  const { ffmpeg, encodeStallMs: stallMs } = config
  return withWorkFolder({ config, space }, async (folder) => {
    const upload = await spoolUpload(request, folder, maxImageBytes)
    const output = join(folder, 'watermark.png')
    const image = await convertImage({ ffmpeg, stallMs, limit, formats }, upload, (image) =>
      watermarkArgs(image, readSize(image), output),
    )
    const size = uprightSize(readSize(image), image.orientation)
    const row = { id: newId(idPrefix), environment, ...size, created_at: now() }
    // If the process is killed before the row exists, the sweep removes the file.
    await files.put(imageKey(row.id), createReadStream(output))
    await insertWatermark(db, row)
    return row
  })
}

/** The size in the header. A few kilobytes can claim to be an image that takes gigabytes to decode. */
function readSize({ bytes }: UploadedImage): Size {
  const size = readImageSize(bytes)
  if (!size) throw unreadableImage()
  const { width, height } = size
  if (width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS) return { width, height }
  const limit = `at most ${MAX_SIDE} pixels on each side and ${Math.floor(MAX_PIXELS / 1e6)} megapixels`
  const title = `The image has ${width} x ${height} pixels; a watermark may have ${limit}.`
  throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
}
