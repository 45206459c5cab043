import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { titleOfFile } from '../media/file-title.ts'
import { call, callOnce, ResponseError, type Server, sendJson } from './client.ts'
import { findIndexAtEnd } from './index-at-end.ts'
import { checkUnchanged, FileChangedError, type LocalFile, readOrThrow } from './local-file.ts'
import { type ResumeFile, resumeFileOf } from './resume-file.ts'
import { findRejection, findStatus } from './status.ts'

export type UploadOptions = Server & {
  title: string | undefined
  isPrivate: boolean
  watermark: Record<string, string> | undefined
  /** An existing video. Undefined for a new one. */
  videoId: string | undefined
}

export type Video = { videoId: string; assets: { player: string } }
type ShowProgress = (done: number, total: number) => void
type Chunk = { from: number; to: number; isFirst: boolean }
type Range = Pick<Chunk, 'from' | 'to'>
type Upload = { server: Server; videoId: string; file: LocalFile; handle: FileHandle }

const minChunkBytes = 8 * 1024 * 1024
/** The service accepts one more, which the index may need. */
const maxChunks = 9_999
const concurrency = 4
const maxAttempts = 6
/** Responses after which a retry can succeed, besides 5xx. */
const transientStatuses = [408, 409, 429]

export type Observer = {
  /** The video exists, and its player page can be opened. */
  onVideo(video: Video): void
  showProgress: ShowProgress
}

/** Uploads a file in concurrent chunks. Resumes an earlier upload that was interrupted. */
export async function uploadFile(
  file: LocalFile,
  options: UploadOptions,
  { onVideo, showProgress }: Observer,
): Promise<Video> {
  const { path, size, mtimeMs } = file
  const { url, key, title, isPrivate, watermark, videoId } = options
  // The settings of the video are part of the identity: resuming into a public video would publish a private file.
  const settings = [
    title ?? null,
    isPrivate,
    ...(watermark ? [watermark] : []),
    ...(videoId ? [{ videoId }] : []),
  ]
  const resumeFile = resumeFileOf([url, key, resolve(path), size, mtimeMs, ...settings])
  await using handle = await readOrThrow(file, () => open(path))
  await checkUnchanged(file, handle)
  const chunks = await listChunks(file, handle)
  const { video, received } =
    (await resumeVideo(resumeFile, options, chunks)) ?? (await beginUpload(resumeFile, path, options))
  onVideo(video)
  const upload = { server: options, videoId: video.videoId, file, handle }
  const missing = chunks.filter((chunk) => !isAmong(received, chunk))
  try {
    await sendChunks(upload, missing, showProgress)
  } catch (error) {
    // The original content no longer exists, so this upload could never be completed.
    if (error instanceof FileChangedError) {
      if (videoId !== undefined) throw error
      await call(options, 'DELETE', `/videos/${video.videoId}`).catch(() => {})
      await resumeFile.remove()
      throw new FileChangedError(
        `${error.message} Its video was deleted: upload it again when it is complete.`,
      )
    }
    throw error
  }
  await resumeFile.remove()
  return video
}

async function beginUpload(resumeFile: ResumeFile, path: string, options: UploadOptions) {
  const { videoId } = options
  const video = videoId
    ? await call<Video>(options, 'GET', `/videos/${encodeURIComponent(videoId)}`)
    : await createVideo(path, options)
  await resumeFile.write(video.videoId)
  return { video, received: [] }
}

function createVideo(path: string, options: UploadOptions): Promise<Video> {
  const { title = titleOfFile(basename(path)), isPrivate, watermark } = options
  const body = { title, public: !isPrivate, ...(watermark && { watermark }) }
  return sendJson<Video>(options, 'POST', '/videos', body)
}

async function resumeVideo(resumeFile: ResumeFile, options: UploadOptions, chunks: Chunk[]) {
  const videoId = await resumeFile.read()
  if (!videoId) return undefined
  try {
    const video = await call<Video>(options, 'GET', `/videos/${videoId}`)
    const status = await findStatus(options, videoId)
    // What has arrived of a rejected file is not part of the one that replaces it.
    const received = findRejection(status) === undefined ? (status.ingest?.receivedBytes ?? []) : []
    // Another version of the command divides files in another way.
    return received.every((range) => isAmong(chunks, range)) ? { video, received } : undefined
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return undefined
    throw error
  }
}

const isAmong = (ranges: Range[], { from, to }: Range) =>
  ranges.some((range) => range.from === from && range.to === to)

async function sendChunks(upload: Upload, chunks: Chunk[], showProgress: ShowProgress): Promise<void> {
  const { size } = upload.file
  let done = size - chunks.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  showProgress(done, size)
  const stop = new AbortController()
  const remaining = chunks[Symbol.iterator]()
  const sendNext = async (): Promise<boolean> => {
    const { value: chunk } = remaining.next()
    if (!chunk) return false
    await sendChunk(upload, chunk, stop.signal)
    done += chunk.to - chunk.from + 1
    showProgress(done, size)
    return true
  }
  const sendRemaining = async () => {
    while (await sendNext());
  }
  const senders: Promise<void>[] = []
  try {
    for (const { isFirst } of chunks) if (isFirst) await sendNext()
    senders.push(...Array.from({ length: concurrency }, sendRemaining))
    await Promise.all(senders)
  } catch (error) {
    // Stop the other senders before the error is reported.
    stop.abort()
    await Promise.allSettled(senders)
    throw error
  }
}

/**
 * The service encodes a file while it arrives, as soon as it has the beginning and the index. So these are sent first, and
 * one after the other: together, all would arrive late. The chunk at the beginning of a file that replaces another one
 * removes what has arrived of that.
 */
async function listChunks(file: LocalFile, handle: FileHandle): Promise<Chunk[]> {
  const index = await readOrThrow(file, () => findIndexAtEnd(handle, file.size))
  const chunkBytes = Math.max(minChunkBytes, Math.ceil(file.size / maxChunks))
  // No chunk but the last one may be small.
  const end = index && index.from >= chunkBytes ? index.from : file.size
  const ranges = [...splitRange(0, end, chunkBytes), ...splitRange(end, file.size, chunkBytes)]
  const hasIndex = ({ from, to }: Range) => index !== undefined && from <= index.to && to >= index.from
  const chunks = ranges.map((range) => ({ ...range, isFirst: range.from === 0 || hasIndex(range) }))
  return [...chunks.filter(({ isFirst }) => isFirst), ...chunks.filter(({ isFirst }) => !isFirst)]
}

/** The last one includes the remainder. */
function splitRange(start: number, end: number, chunkBytes: number): Range[] {
  if (start === end) return []
  const count = Math.max(1, Math.floor((end - start) / chunkBytes))
  return Array.from({ length: count }, (_, index) => ({
    from: start + index * chunkBytes,
    to: index === count - 1 ? end - 1 : start + (index + 1) * chunkBytes - 1,
  }))
}

async function sendChunk(upload: Upload, chunk: Chunk, signal: AbortSignal): Promise<void> {
  const { server, videoId, file } = upload
  const { from, to } = chunk
  const { boundary, head, tail } = multipartFrame(file.path)
  const headers = {
    'content-range': `bytes ${from}-${to}/${file.size}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(head.length + to - from + 1 + tail.length),
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const body = ReadableStream.from(readBody(upload, chunk, { head, tail }))
      await callOnce(server, 'POST', `/videos/${videoId}/source`, { headers, body, duplex: 'half', signal })
      return
    } catch (error) {
      if (isFinal(error) || attempt === maxAttempts) throw error
      await delay(500 * 2 ** attempt, undefined, { signal })
    }
  }
}

const isFinal = (error: unknown) =>
  error instanceof FileChangedError ||
  (error instanceof ResponseError && error.status < 500 && !transientStatuses.includes(error.status))

function multipartFrame(path: string) {
  const boundary = randomUUID()
  const name = basename(path).replaceAll(/["\r\n]/g, encodeURIComponent)
  const lines = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename="${name}"`,
    'Content-Type: application/octet-stream',
    '\r\n',
  ]
  return { boundary, head: Buffer.from(lines.join('\r\n')), tail: Buffer.from(`\r\n--${boundary}--\r\n`) }
}

/**
 * Reads the request body while it is sent. FormData with a Blob of the file would be simpler, but Node 24 ends the
 * process if the file changes in the meantime.
 */
async function* readBody(
  { file, handle }: Upload,
  { from, to }: Chunk,
  { head, tail }: { head: Buffer; tail: Buffer },
): AsyncGenerator<Uint8Array> {
  yield head
  for (let position = from; position <= to; ) {
    const buffer = Buffer.allocUnsafe(Math.min(256 * 1024, to + 1 - position))
    const { bytesRead } = await readOrThrow(file, () => handle.read(buffer, 0, buffer.length, position))
    if (bytesRead === 0) break
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
  // Checked before the body ends: the service must not accept a chunk that mixes old and new content.
  await checkUnchanged(file, handle)
  yield tail
}
