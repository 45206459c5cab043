import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { FetchError, UrlNotAllowedError } from '../../lib/fetch/errors.ts'
import type { GuardedResponse } from '../../lib/fetch/exchange.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import type { Jobs } from '../../queues.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { findSourceOfVideo } from '../../videos/store.ts'
import { ArrivingChunk, discardArriving } from '../early/arriving-chunk.ts'
import { receivedBytes, sourceFailures } from '../metrics.ts'
import { uploadsQueues } from '../queues.ts'
import { discardArrived } from '../source/arrival.ts'
import { beginSource, ensureUpload, isLost, newSource, replaceUpload } from '../source/begin.ts'
import { failSource } from '../source/fail-source.ts'
import { minChunkBytes } from '../source/range.ts'
import { markReceived } from '../source/state.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import { wakeClones } from '../source/wake-clones.ts'
import type { SourceRow } from '../tables.ts'
import { copySource } from './copy-source.ts'
import { SourceFetchError } from './errors.ts'
import { FetchPaused, pauseIfDiscarded } from './pause-fetch.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics' | 'space'> & {
  fetch: GuardedFetch
  tools: Tools
}

/** A worker that is killed loses at most one chunk. */
const chunkBytes = 64 * 1024 * 1024
/** The limit for responses without a Content-Length, which may never end. */
const maxUnstatedBytes = 100 * 1024 ** 3
const maxAttempts = 5

/** Fetches the source of a video from the URL, or copies it from the video, that it was created with. */
export async function fetchSource(
  deps: Deps,
  { videoId, isRetry = false }: Jobs['fetch-source'],
  retries = 0,
): Promise<void> {
  const video = await findSourceOfVideo(deps.db, videoId)
  if (!video?.source_reference) {
    await removeIfDeleted(deps, videoId)
    return
  }
  const form = video.source_type === 'clone' ? 'clone' : 'url'
  const source = await ensureSource(deps, videoId, form, isRetry)
  if (source?.state === 'receiving') await receive(deps, source, video.source_reference, retries)
  // Also when a previous run was killed after it had ended the source. A clone that still has to wait waits again.
  await wakeClones(deps, videoId)
}

async function receive(deps: Deps, source: SourceRow, reference: string, retries: number): Promise<void> {
  const { video_id: videoId } = source
  try {
    if (source.form === 'clone') await copySource(deps, videoId, reference)
    else await download(deps, source, reference)
  } catch (error) {
    if (error instanceof FetchPaused) return
    const isFinal = error instanceof SourceFetchError
    // After the last attempt nothing would end the source, and its clones would wait forever.
    if (!isFinal && retries < uploadsQueues['fetch-source'].retryLimit) throw error
    const reason = isFinal ? error.message : 'The file could not be stored after hours of retries.'
    if (!(await failSource(deps, videoId, 'receiving', reason))) return
    deps.metrics.count(sourceFailures, { cause: isFinal ? error.failure : 'store' })
    deps.log.info({ videoId, reason, ...(!isFinal && { err: error }) }, 'cannot fetch a source')
    await deps.files.abandonUpload(source.handle)
  }
}

async function ensureSource(
  deps: Deps,
  videoId: string,
  form: 'url' | 'clone',
  isRetry: boolean,
): Promise<SourceRow | undefined> {
  if (isRetry) await resetFailed(deps, videoId)
  const found = await store.findSource(deps.db, videoId)
  const origin = { created_by: null, token: null, filename: null, address: null }
  const createRow = (handle: string) => newSource(videoId, form, handle, origin, deps.now())
  if (!found) await beginSource(deps, videoId, createRow)
  else if (await isLost(deps, found)) await replaceUpload(deps, videoId, createRow)
  else return ensureUpload(deps, found)
  return store.findSource(deps.db, videoId)
}

/** A source that could not be fetched is fetched from the beginning. Its upload was abandoned. */
async function resetFailed({ db, now }: Deps, videoId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if ((await store.lockSource(trx, videoId))?.state !== 'failed') return
    await chunkStore.deleteChunks(trx, videoId)
    const nothing = { total: null, size: null, failure: null, validator: null }
    await store.updateSource(trx, videoId, { ...nothing, state: 'receiving', updated_at: now() })
  })
}

async function download(deps: Deps, source: SourceRow, url: string): Promise<void> {
  const { video_id: videoId } = source
  let validator = source.validator
  for (let attempt = 1; ; attempt++) {
    await pauseIfDiscarded(deps, videoId)
    const before = await countReceived(deps, videoId)
    try {
      const response = await request(deps.fetch, url, before, validator)
      const isResumed = response.status === 206
      if (!isResumed && before > 0) await discard(deps, source)
      const from = isResumed ? before : 0
      validator = validatorOf(response)
      const total = totalOf(response, from)
      await store.updateSource(deps.db, videoId, { total, validator, updated_at: deps.now() })
      try {
        await receiveAll(deps, source, response, from, total)
      } finally {
        // A response that is not read to its end keeps its connection.
        response.cancel()
      }
      return await complete(deps, videoId)
    } catch (error) {
      if (error instanceof UrlNotAllowedError) throw new SourceFetchError('not-allowed', error.message)
      if (!(error instanceof FetchError)) throw error
      // Progress resets the number of attempts.
      if ((await countReceived(deps, videoId)) > before) attempt = 0
      if (!error.isRetryable || attempt === maxAttempts) throw new SourceFetchError(error.kind, error.message)
      await delay(Math.min(30_000, 1_000 * 2 ** attempt))
    }
  }
}

async function request(fetch: GuardedFetch, url: string, from: number, validator: string | null) {
  const headers: Record<string, string> = {}
  if (from > 0 && validator) Object.assign(headers, { range: `bytes=${from}-`, 'if-range': validator })
  const response = await fetch.request(url, {
    headers,
    maxRedirects: 10,
    connectTimeoutMs: 10_000,
    headersTimeoutMs: 30_000,
    idleTimeoutMs: 30_000,
  })
  const startsAt = /^bytes (\d+)-/.exec(String(response.headers['content-range'] ?? ''))?.[1]
  if (response.status === 200 || (response.status === 206 && Number(startsAt) === from)) return response
  response.cancel()
  const reason = `The server responded with status ${response.status}.`
  if (response.status >= 500 || response.status === 429)
    throw new FetchError('protocol', reason, { isRetryable: true })
  throw new SourceFetchError('status', reason)
}

const validatorOf = ({ headers }: GuardedResponse) => {
  const etag = headers.etag
  // A weak ETag does not guarantee identical bytes.
  return etag && !etag.startsWith('W/') ? etag : (headers['last-modified'] ?? null)
}

function totalOf({ headers }: GuardedResponse, from: number): number | null {
  const length = Number(headers['content-length'])
  return headers['content-length'] && Number.isSafeInteger(length) ? from + length : null
}

/** Stores the body in chunks. If the connection drops, the bytes that have arrived count. */
async function receiveAll(
  deps: Deps,
  source: SourceRow,
  response: GuardedResponse,
  from: number,
  total: number | null,
) {
  const body = new ResponseBody(response.body)
  let offset = from
  while (body.state === 'open') {
    offset += await storeNextChunk(deps, source, offset, body)
    if (body.state === 'open') await pauseIfDiscarded(deps, source.video_id)
    if (total === null && offset > maxUnstatedBytes)
      throw new SourceFetchError('content', 'The file does not end.')
  }
  if (body.state === 'failed') throw body.error
  if (offset === 0) throw new SourceFetchError('content', 'The file is empty.')
}

/** Divides a response into chunks, and keeps its error until the bytes before it are stored. */
class ResponseBody {
  state: 'open' | 'ended' | 'failed' = 'open'
  error: unknown
  readonly #buffers: AsyncIterator<Buffer>

  constructor(body: AsyncIterable<Buffer>) {
    this.#buffers = body[Symbol.asyncIterator]()
  }

  async *nextChunk(): AsyncGenerator<Buffer> {
    for (let size = 0; size < chunkBytes && this.state === 'open'; ) {
      const bytes = await this.#next()
      if (!bytes) return
      size += bytes.length
      yield bytes
    }
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      const { value, done } = await this.#buffers.next()
      if (!done) return value
      this.state = 'ended'
    } catch (error) {
      this.state = 'failed'
      this.error = error
    }
    return undefined
  }
}

/** Returns the size of the chunk. */
async function storeNextChunk(
  deps: Deps,
  row: SourceRow,
  offset: number,
  body: ResponseBody,
): Promise<number> {
  const { db, files, metrics, now } = deps
  const { video_id: videoId, handle } = row
  const arriving = new ArrivingChunk(deps, row)
  const { onWritten } = arriving
  const chunk = await files
    .writeChunk(handle, body.nextChunk(), { order: offset, offset, onWritten })
    .catch(async (error) => {
      await discardArriving(deps, videoId, arriving)
      throw error
    })
  // Stores accept small chunks only at the end.
  if (chunk.size === 0 || (body.state === 'failed' && chunk.size < minChunkBytes)) {
    await discardArriving(deps, videoId, arriving)
    await files.removeChunk(handle, chunk)
    return 0
  }
  const received = await db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (source?.received_bytes !== offset) return source?.received_bytes
    const { bytes } = await chunkStore.addChunk(trx, videoId, offset, chunk)
    await arriving.record(trx, source, { chunk, position: offset, receivedBytes: bytes })
    await store.updateSource(trx, videoId, { updated_at: now() })
    return offset
  })
  if (received !== offset) await discardArriving(deps, videoId, arriving)
  if (received === undefined) throw new SourceFetchError('missing', 'The video was deleted.')
  if (received !== offset) {
    // A job that was considered dead still runs. The retry continues after it.
    await files.removeChunk(handle, chunk)
    throw new Error(`another job is fetching the source of ${videoId}`)
  }
  metrics.count(receivedBytes, { method: 'url' }, chunk.size)
  return chunk.size
}

/** The server cannot resume the download, or its file has changed. */
async function discard({ db, files, queue }: Deps, { video_id: videoId, handle }: SourceRow): Promise<void> {
  for (const { place, size } of await chunkStore.listChunks(db, videoId)) {
    if (place) await files.removeChunk(handle, { location: place, size })
  }
  await db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (source) await discardArrived(queue, trx, source)
    await chunkStore.deleteChunks(trx, videoId)
  })
}

async function countReceived({ db }: Deps, videoId: string): Promise<number> {
  return (await store.findSource(db, videoId))?.received_bytes ?? 0
}

async function complete(deps: Deps, videoId: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (source?.state === 'receiving') await markReceived(deps, trx, videoId, source.received_bytes)
  })
}
