import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { spoolUpload } from '../lib/spool.ts'
import { withWorkFolder } from '../lib/work.ts'
import { convertImage, maxImageBytes } from '../media/image-upload.ts'
import { thumbnailArgs } from '../media/images.ts'

const formats = ['jpeg', 'png', 'webp'] as const

/** Converts an uploaded image to JPEG. */
export function receiveThumbnail(
  { config, space }: Pick<Context, 'config' | 'space'>,
  limit: ConcurrencyLimit,
  request: IncomingMessage,
): Promise<Buffer> {
  const { ffmpeg, encodeStallMs: stallMs } = config
  return withWorkFolder({ config, space }, async (folder) => {
    const upload = await spoolUpload(request, folder, maxImageBytes)
    const output = join(folder, 'thumbnail.jpg')
    await convertImage({ ffmpeg, stallMs, limit, formats }, upload, (image) => thumbnailArgs(image, output))
    return readFile(output)
  })
}
