import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** One helpful sentence about an upload that does not work. */
export class UploadProblem extends Error {}

export type UploadOptions = { url: string; key: string; title: string | undefined; isPrivate: boolean }

type Video = { videoId: string; assets: { player: string } }
type Status = { ingest: { status: string; receivedBytes: { from: number; to: number }[] } | null }
type Show = (done: number, total: number) => void

const smallestChunk = 8 * 1024 * 1024
const mostChunks = 10_000
const atOnce = 4
const tries = 6

/** Uploads a file in chunks, several at once; goes on where an earlier try was interrupted. The player's address. */
export async function uploadFile(path: string, options: UploadOptions, show: Show): Promise<string> {
  const { size, mtimeMs, isFile } = await fileFacts(path)
  if (!isFile) throw new UploadProblem(`${path} is not a file.`)
  if (size === 0) throw new UploadProblem(`${path} is empty.`)
  const memory = memoryOf([options.url, options.key, resolve(path), size, mtimeMs].join('\n'))
  const { video, received } = (await resume(memory, options)) ?? (await begin(memory, path, options))

  const chunkBytes = Math.max(smallestChunk, Math.ceil(size / mostChunks))
  const chunks = cut(size, chunkBytes).filter(({ from }) => !received.has(from))
  let done = size - chunks.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  show(done, size)
  const file = await openAsBlob(path)
  const next = chunks[Symbol.iterator]()
  const send = async () => {
    for (const { from, to } of next) {
      await sendChunk(
        options,
        video.videoId,
        basename(path),
        file.slice(from, to + 1),
        `bytes ${from}-${to}/${size}`,
      )
      done += to - from + 1
      show(done, size)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  await rm(memory, { force: true })
  return video.assets.player
}

async function fileFacts(path: string) {
  try {
    const facts = await stat(path)
    return { size: facts.size, mtimeMs: facts.mtimeMs, isFile: facts.isFile() }
  } catch (error) {
    throw new UploadProblem(`${path} cannot be read: ${(error as Error).message}.`)
  }
}

/** Remembers which video a file goes into, so that an interrupted upload is found again. */
const memoryOf = (identity: string) =>
  join(homedir(), '.cache/kinora/uploads', `${createHash('sha256').update(identity).digest('hex')}.json`)

async function begin(memory: string, path: string, options: UploadOptions) {
  const body = { title: options.title ?? basename(path), public: !options.isPrivate }
  const video = await call<Video>(options, 'POST', '/videos', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await mkdir(join(memory, '..'), { recursive: true })
  await writeFile(memory, JSON.stringify({ videoId: video.videoId }))
  return { video, received: new Set<number>() }
}

async function resume(memory: string, options: UploadOptions) {
  const text = await readFile(memory, 'utf8').catch(() => undefined)
  if (!text) return undefined
  const { videoId } = JSON.parse(text) as { videoId: string }
  try {
    const video = await call<Video>(options, 'GET', `/videos/${videoId}`)
    const { ingest } = await call<Status>(options, 'GET', `/videos/${videoId}/status`)
    return { video, received: new Set(ingest?.receivedBytes.map(({ from }) => from)) }
  } catch (error) {
    if (error instanceof Answered && error.status === 404) return undefined
    throw error
  }
}

function cut(size: number, chunkBytes: number): { from: number; to: number }[] {
  const chunks: { from: number; to: number }[] = []
  for (let from = 0; from < size; ) {
    // What is left over is added to the last chunk where it would be too small to stand alone.
    const isLast = size - from < 2 * chunkBytes
    const to = isLast ? size - 1 : from + chunkBytes - 1
    chunks.push({ from, to })
    from = to + 1
  }
  return chunks
}

async function sendChunk(options: UploadOptions, videoId: string, name: string, blob: Blob, range: string) {
  const body = () => {
    const form = new FormData()
    form.append('file', blob, name)
    return form
  }
  for (let attempt = 1; ; attempt++) {
    try {
      await call(options, 'POST', `/videos/${videoId}/source`, {
        headers: { 'content-range': range },
        body: body(),
      })
      return
    } catch (error) {
      const isFinal =
        error instanceof Answered && error.status < 500 && error.status !== 429 && error.status !== 409
      if (isFinal || attempt === tries) throw error
      await delay(500 * 2 ** attempt)
    }
  }
}

class Answered extends UploadProblem {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function call<T>(
  { url, key }: UploadOptions,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<T> {
  const headers = { ...init.headers, authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
  const response = await fetch(url + path, { ...init, method, headers }).catch((error) => {
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw new UploadProblem(`${url} cannot be reached: ${reason || 'no connection'}. Is the service running?`)
  })
  const body = (await response.json().catch(() => ({}))) as { title?: string }
  if (!response.ok)
    throw new Answered(response.status, `${url} answered ${response.status}: ${body.title ?? ''}`)
  return body as T
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
