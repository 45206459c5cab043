import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, fileErrors, httpErrors, notFound } from '../lib/errors.ts'
import { FilesProblem } from '../lib/files/files.ts'
import { readMultipart } from '../lib/multipart.ts'
import { RunError } from '../lib/run.ts'
import { newWorkFolder } from '../lib/work.ts'
import { blameOf, failureOf } from '../media/failure.ts'
import { runFfmpeg } from '../media/ffmpeg.ts'
import { kindOf, orientationOf, pictureArgs } from '../media/pictures.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue'>

const mostBytes = 8 * 1024 * 1024
/** An ordinary picture takes a tenth of a second. */
const cpuSeconds = 20
/** Cameras put a picture's orientation before all else, at most behind a small preview. */
const headBytes = 128 * 1024

/** Each ffmpeg may take hundreds of megabytes for a picture that is made for it: two at once, and not too many waiting. */
export const createPictureLimit = () => createConcurrencyLimit(2, 20)

/** Takes in a picture that a client sends, and makes it the thumbnail. */
export async function receiveThumbnail(
  deps: Deps,
  limit: ConcurrencyLimit,
  videoId: string,
  request: IncomingMessage,
): Promise<void> {
  const folder = newWorkFolder(deps.config.dataDir)
  await mkdir(folder, { recursive: true })
  try {
    const input = join(folder, 'upload')
    await readMultipart(request, ({ stream }) => spool(stream, input))
    const output = join(folder, 'thumbnail.jpg')
    const made = limit.run(() => makeJpeg(deps, input, output))
    if (!made) throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '2' } })
    await made
    await keep(deps, videoId, output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function spool(stream: Readable, path: string): Promise<void> {
  let size = 0
  async function* limited() {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > mostBytes) {
        const title = `The file has more than ${mostBytes / 1024 ** 2} MiB.`
        throw new ApiError(fileErrors.tooLarge, { title, name: 'file' })
      }
      yield chunk
    }
  }
  try {
    await pipeline(limited, createWriteStream(path))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? new FilesProblem('full', error) : error
  }
  if (size === 0) throw new ApiError(fileErrors.empty, { name: 'file' })
}

/** What is kept, and given to viewers, is a JPEG of our own making, whatever came. */
async function makeJpeg({ config }: Deps, input: string, output: string): Promise<void> {
  const head = await readHead(input)
  const kind = kindOf(head)
  if (!kind) {
    const title = 'The file is not a JPEG, PNG or WebP picture.'
    throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
  }
  const orientation = kind === 'jpeg' ? orientationOf(head) : 1
  const tools = { ffmpeg: config.ffmpeg, stallMs: config.encodeStallMs }
  try {
    await runFfmpeg(tools, pictureArgs({ input, kind, orientation, output }), { limits: { cpuSeconds } })
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    if (/No space left on device/.test(error.stderr)) throw new FilesProblem('full', error)
    const failure = failureOf(error)
    if (failure === 'host') throw error
    // A picture that crashes the decoder will do so again.
    if (blameOf(error) === 'environment' && failure !== 'crashed')
      throw new ApiError(httpErrors.serviceUnavailable, { headers: { 'retry-after': '5' }, cause: error })
    const title = 'The picture cannot be read: it is broken, cut off or too large.'
    throw new ApiError(fileErrors.invalid, { title, name: 'file', cause: error })
  }
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.subarray(0, bytesRead)
}

async function keep({ db, files, queue }: Deps, videoId: string, path: string): Promise<void> {
  const key = `videos/${videoId}/pictures/uploaded-${randomUUID()}.jpg`
  await store.announceUpload(db, videoId, key)
  await files.put(key, createReadStream(path))
  const isNoted = await db.transaction().execute(async (trx) => {
    if (!(await store.noteUpload(trx, videoId, key))) return false
    // Which clears away the one of before.
    await queue.send(trx, 'make-pictures', { videoId })
    return true
  })
  if (isNoted) return
  const isThere = await store.findPictures(db, videoId)
  await files.remove(isThere ? key : `videos/${videoId}`)
  // Another wish came after this one, and counts.
  if (!isThere) throw notFound('videoId')
}
