import { randomUUID } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Answered, ClientProblem, call, type Server } from './client.ts'
import { type Memory, memoryOf } from './upload-memory.ts'

class FileChanged extends ClientProblem {}

export type UploadOptions = Server & { title: string | undefined; isPrivate: boolean }

/** A file as it was when it was looked at. */
export type LocalFile = { path: string; size: number; mtimeMs: number }

type Video = { videoId: string; assets: { player: string } }
type Status = { ingest: { status: string; receivedBytes: { from: number; to: number }[] } | null }
type Show = (done: number, total: number) => void
type Chunk = { from: number; to: number }

const smallestChunk = 8 * 1024 * 1024
const mostChunks = 10_000
const atOnce = 4
const tries = 6

/** Refuses what cannot be uploaded, before anything is. */
export async function checkFile(path: string): Promise<LocalFile> {
  const found = await reading(path, () => stat(path))
  if (!found.isFile()) throw new ClientProblem(`${path} is not a file.`)
  if (found.size === 0) throw new ClientProblem(`${path} is empty.`)
  await reading(path, async () => (await open(path)).close())
  return { path, size: found.size, mtimeMs: found.mtimeMs }
}

function reading<T>(path: string, work: () => Promise<T>): Promise<T> {
  return work().catch((error) => {
    throw new ClientProblem(`${path} cannot be read: ${error.message}.`)
  })
}

/** Uploads a file in chunks, several at once; goes on where an earlier try was interrupted. */
export async function uploadFile(file: LocalFile, options: UploadOptions, show: Show): Promise<Video> {
  const { path, size, mtimeMs } = file
  const { url, key, title, isPrivate } = options
  // What the video was made with belongs to it: going on with a public one would publish what is to be private.
  const memory = memoryOf([url, key, resolve(path), size, mtimeMs, title ?? null, isPrivate])
  await using handle = await reading(path, () => open(path))
  await checkUnchanged(file, handle)
  const { video, received } = (await resume(memory, options)) ?? (await begin(memory, path, options))
  try {
    await sendAll(file, handle, video.videoId, received, options, show)
  } catch (error) {
    // It would stay unfinished for ever: the file that it was begun with is no more.
    if (error instanceof FileChanged) {
      await call(options, 'DELETE', `/videos/${video.videoId}`).catch(() => {})
      await memory.forget()
    }
    throw error
  }
  await memory.forget()
  return video
}

async function begin(memory: Memory, path: string, options: UploadOptions) {
  const body = { title: options.title ?? basename(path), public: !options.isPrivate }
  const video = await call<Video>(options, 'POST', '/videos', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await memory.keep(video.videoId)
  return { video, received: new Set<number>() }
}

async function resume(memory: Memory, options: UploadOptions) {
  const videoId = await memory.recall()
  if (!videoId) return undefined
  try {
    const video = await call<Video>(options, 'GET', `/videos/${videoId}`)
    const { ingest } = await call<Status>(options, 'GET', `/videos/${videoId}/status`)
    return { video, received: new Set(ingest?.receivedBytes.map(({ from }) => from)) }
  } catch (error) {
    if (error instanceof Answered && error.status === 404) return undefined
    throw error
  }
}

async function sendAll(
  file: LocalFile,
  handle: FileHandle,
  videoId: string,
  received: Set<number>,
  options: UploadOptions,
  show: Show,
): Promise<void> {
  const { size } = file
  const chunkBytes = Math.max(smallestChunk, Math.ceil(size / mostChunks))
  const chunks = cut(size, chunkBytes).filter(({ from }) => !received.has(from))
  let done = size - chunks.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  show(done, size)
  const stop = new AbortController()
  const next = chunks[Symbol.iterator]()
  const send = async () => {
    for (const chunk of next) {
      await sendChunk(options, videoId, file, handle, chunk, stop.signal)
      done += chunk.to - chunk.from + 1
      show(done, size)
    }
  }
  const senders = Array.from({ length: atOnce }, send)
  try {
    await Promise.all(senders)
  } catch (error) {
    // The others must not go on behind the back of whoever is told that it has failed.
    stop.abort()
    await Promise.allSettled(senders)
    throw error
  }
}

function cut(size: number, chunkBytes: number): Chunk[] {
  const chunks: Chunk[] = []
  for (let from = 0; from < size; ) {
    // What is left over is added to the last chunk where it would be too small to stand alone.
    const isLast = size - from < 2 * chunkBytes
    const to = isLast ? size - 1 : from + chunkBytes - 1
    chunks.push({ from, to })
    from = to + 1
  }
  return chunks
}

/** Answers that another try may change. */
const passing = [408, 409, 429]

async function sendChunk(
  options: UploadOptions,
  videoId: string,
  file: LocalFile,
  handle: FileHandle,
  chunk: Chunk,
  signal: AbortSignal,
): Promise<void> {
  const { from, to } = chunk
  const boundary = randomUUID()
  const name = basename(file.path).replaceAll(/["\r\n]/g, encodeURIComponent)
  const frame = {
    head: Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  }
  const headers = {
    'content-range': `bytes ${from}-${to}/${file.size}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(frame.head.length + to - from + 1 + frame.tail.length),
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const body = ReadableStream.from(formOf(file, handle, chunk, frame))
      await call(options, 'POST', `/videos/${videoId}/source`, { headers, body, duplex: 'half', signal })
      return
    } catch (error) {
      const isFinal =
        error instanceof FileChanged ||
        (error instanceof Answered && error.status < 500 && !passing.includes(error.status))
      if (isFinal || attempt === tries) throw error
      await delay(500 * 2 ** attempt, undefined, { signal })
    }
  }
}

/**
 * The body of a request, read as it is sent. FormData with a Blob of the file would do it too, but in Node 24 a file
 * that changes meanwhile ends the process.
 */
async function* formOf(
  file: LocalFile,
  handle: FileHandle,
  { from, to }: Chunk,
  { head, tail }: { head: Buffer; tail: Buffer },
): AsyncGenerator<Uint8Array> {
  yield head
  for (let at = from; at <= to; ) {
    const buffer = Buffer.allocUnsafe(Math.min(256 * 1024, to + 1 - at))
    const { bytesRead } = await reading(file.path, () => handle.read(buffer, 0, buffer.length, at))
    if (bytesRead === 0) break
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
  // Before the end of the body, so that the service does not count what may be a mixture.
  await checkUnchanged(file, handle)
  yield tail
}

async function checkUnchanged({ path, size, mtimeMs }: LocalFile, handle: FileHandle): Promise<void> {
  const found = await reading(path, () => handle.stat())
  if (found.size === size && found.mtimeMs === mtimeMs) return
  throw new FileChanged(`${path} has changed since its upload began: upload it again when it is whole.`)
}

/** A line that is drawn anew as long as the output is a terminal. */
export function progressBar(name: string, out: NodeJS.WriteStream): Show {
  const start = Date.now()
  let first: number | undefined
  return (done, total) => {
    first ??= done
    if (!out.isTTY) return
    const filled = Math.floor((30 * done) / total)
    const perSecond = (done - first) / Math.max(0.001, (Date.now() - start) / 1000) / 1e6
    const bar = '█'.repeat(filled) + '░'.repeat(30 - filled)
    out.write(`\r${name}  ${bar} ${Math.floor((100 * done) / total)} %  ${perSecond.toFixed(1)} MB/s `)
    if (done === total) out.write('\n')
  }
}
