import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ApiError, fileErrors } from './errors.ts'
import { FileStoreError } from './files/files.ts'
import { readMultipart } from './multipart.ts'

/**
 * Writes the file of a multipart body into the folder and returns its path. It is not collected in memory, as a slow client
 * may take hours.
 */
export async function spoolUpload(
  request: IncomingMessage,
  folder: string,
  maxBytes: number,
): Promise<string> {
  const path = join(folder, 'upload')
  await readMultipart(request, ({ stream }) => spool(stream, path, maxBytes))
  return path
}

async function spool(stream: Readable, path: string, maxBytes: number): Promise<void> {
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
