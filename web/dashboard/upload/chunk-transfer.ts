import { api, csrfHeaders, type Environment, request } from '../api/client.ts'
import { isMissing, OfflineError } from '../api/problem.ts'
import type { Video, VideoStatus } from '../api/types.ts'
import { findIndexAtEnd } from './index-at-end.ts'
import type { StopTransfer, TransferEvents, TransferSource } from './transfer-types.ts'
import { noteStaleToken, problemOf } from './upload-problem.ts'

/** A chunk is sent again if it is interrupted. */
const minChunkBytes = 16 * 1024 * 1024
/** The server accepts one more, which the index may need. */
const maxChunks = 9_999

type Chunk = { from: number; to: number }

/** The path below /dashboard to which the chunks of a video are sent. */
const chunkPath = /^\/api\/(production|sandbox)\/videos\/(\w+)\/source$/
const pathOf = (environment: Environment, videoId: string) => `/api/${environment}/videos/${videoId}/source`

/** The URL of an upload in chunks, and not over tus. It is the path to which they are sent. */
export const isChunkUrl = (url: string) => chunkPath.test(url)

/** Whether the file can be encoded earlier if its end is sent first. */
export const isIndexLast = async (file: File) => ((await findIndexAtEnd(file))?.from ?? 0) >= minChunkBytes

/** Sends the beginning of a file, its index, and then the rest. Chunks that have arrived are not sent again. */
export function startChunkTransfer(source: TransferSource, events: TransferEvents): StopTransfer {
  const abort = new AbortController()
  const created = Promise.withResolvers<void>()
  const run = async () => {
    const received = source.url ? await readReceived(source.url) : []
    const path = source.url ?? (await createVideo(source, events))
    created.resolve()
    const sent = new Set(received.map(({ from }) => from))
    const chunks = await listChunks(source.file)
    await sendChunks(path, source.file, { chunks, sent }, events.onProgress, abort.signal)
  }
  run().then(
    () => !abort.signal.aborted && events.onDone(),
    async (error) => {
      created.resolve()
      if (!abort.signal.aborted) events.onError(await noteStaleToken(error))
    },
  )
  return async () => {
    abort.abort()
    // Otherwise it could leave an empty video that nobody knows of.
    await created.promise
  }
}

async function createVideo(
  { environment, file, watermark }: TransferSource,
  { onCreated }: TransferEvents,
): Promise<string> {
  const title = file.name.replace(/\.(3gp|m4v|mov|mp4|qt)$/i, '') || file.name
  const { videoId } = await api<Video>(environment, 'POST', '/videos', {
    body: { title, ...(watermark && { watermark }) },
  })
  const path = pathOf(environment, videoId)
  onCreated(path, videoId)
  return path
}

type Progress = { chunks: Chunk[]; sent: Set<number> }

async function sendChunks(
  path: string,
  file: File,
  { chunks, sent }: Progress,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const missing = chunks.filter(({ from }) => !sent.has(from))
  let done = file.size - missing.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  onProgress(done)
  for (const chunk of missing) {
    const size = chunk.to - chunk.from + 1
    // The body is a little longer than the chunk.
    await sendChunk(path, file, chunk, (bytes) => onProgress(done + Math.min(bytes, size)), signal)
    done += size
  }
}

/** fetch does not tell how much it has sent. */
function sendChunk(
  path: string,
  file: File,
  { from, to }: Chunk,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const request = new XMLHttpRequest()
    request.open('POST', `/dashboard${path}`)
    const headers = { ...csrfHeaders(), 'content-range': `bytes ${from}-${to}/${file.size}` }
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => onProgress(loaded)
    request.onload = () => {
      const { status, responseText } = request
      if (status >= 200 && status < 300) resolve()
      else reject(problemOf(status, responseText, request.getResponseHeader('retry-after')))
    }
    request.onerror = () => reject(new OfflineError())
    request.onabort = () => reject(signal.reason)
    signal.addEventListener('abort', () => request.abort())
    const body = new FormData()
    body.append('file', file.slice(from, to + 1), file.name)
    request.send(body)
  })
}

/** In the order in which they are sent. The same ones each time: those that have arrived are known by where they begin. */
async function listChunks(file: File): Promise<Chunk[]> {
  const index = await findIndexAtEnd(file)
  const chunkBytes = Math.max(minChunkBytes, Math.ceil(file.size / maxChunks))
  // No chunk but the last one may be small.
  const end = index && index.from >= chunkBytes ? index.from : file.size
  const [first, ...others] = splitRange(0, end, chunkBytes)
  return [first!, ...splitRange(end, file.size, chunkBytes), ...others]
}

/** The last chunk includes the remainder. */
function splitRange(start: number, end: number, chunkBytes: number): Chunk[] {
  if (start === end) return []
  const count = Math.max(1, Math.floor((end - start) / chunkBytes))
  return Array.from({ length: count }, (_, index) => ({
    from: start + index * chunkBytes,
    to: index === count - 1 ? end - 1 : start + (index + 1) * chunkBytes - 1,
  }))
}

async function readReceived(url: string): Promise<Chunk[]> {
  const { ingest } = await request<VideoStatus>('GET', url.replace(/source$/, 'status'))
  return ingest?.receivedBytes ?? []
}

export async function readReceivedBytes(url: string): Promise<number> {
  return (await readReceived(url)).reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

/** Nobody restores a video that is not complete, so it is deleted permanently. */
export async function removeVideo(url: string): Promise<void> {
  const [, environment, videoId] = chunkPath.exec(url)!
  for (const folder of ['', '/discarded'])
    await request('DELETE', `/api/${environment}${folder}/videos/${videoId}`).catch((error) => {
      if (!isMissing(error)) throw error
    })
}
