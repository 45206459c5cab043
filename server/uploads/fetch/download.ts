import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { FetchError, UrlNotAllowedError } from '../../lib/fetch/errors.ts'
import type { GuardedResponse } from '../../lib/fetch/exchange.ts'
import type { GuardedFetch, GuardedRequest } from '../../lib/fetch/guarded-fetch.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { ArrivingChunk, discardArriving } from '../early/arriving-chunk.ts'
import { receivedBytes } from '../metrics.ts'
import { discardArrived } from '../source/arrival.ts'
import { minChunkBytes } from '../source/range.ts'
import { markReceived } from '../source/state.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'
import { SourceFetchError } from './errors.ts'
import { pauseIfDiscarded } from './pause-fetch.ts'

export type DownloadDeps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics'>

/** A worker that is killed loses at most one chunk. */
const chunkBytes = 64 * 1024 * 1024
/** The limit for responses without a Content-Length, which may never end. */
const maxUnstatedBytes = 100 * 1024 ** 3
const maxAttempts = 5

/** Requests the file from this byte on, if it has not changed since `validator`. See `requestFile`. */
export type OpenFile = (from: number, validator: string | null) => Promise<GuardedResponse>

/** Receives the rest of the file, chunk by chunk, and records that it is complete. */
export async function download(
  deps: DownloadDeps,
  source: SourceRow,
  open: OpenFile,
  signal?: AbortSignal,
): Promise<void> {
  const { video_id: videoId } = source
  let validator = source.validator
  for (let attempt = 1; ; attempt++) {
    await pauseIfDiscarded(deps, videoId)
    const before = await countReceived(deps, videoId)
    try {
      const response = await open(before, validator)
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
      await delay(Math.min(30_000, 1_000 * 2 ** attempt), undefined, { signal })
    }
  }
}

/** Throws unless the response has the entire file, or the rest of it from this byte on. */
export async function requestFile(
  fetch: GuardedFetch,
  url: string,
  { from, validator, refusal, ...options }: RequestedFile,
): Promise<GuardedResponse> {
  const headers = { ...options.headers }
  if (from > 0 && validator) Object.assign(headers, { range: `bytes=${from}-`, 'if-range': validator })
  const response = await fetch.request(url, {
    ...options,
    headers,
    maxRedirects: 10,
    connectTimeoutMs: 10_000,
    headersTimeoutMs: 30_000,
    idleTimeoutMs: 30_000,
  })
  const startsAt = /^bytes (\d+)-/.exec(String(response.headers['content-range'] ?? ''))?.[1]
  if (response.status === 200 || (response.status === 206 && Number(startsAt) === from)) return response
  response.cancel()
  const refused = refusal?.(response)
  if (refused) throw refused
  const reason = `The server responded with status ${response.status}.`
  if (response.status >= 500 || response.status === 429)
    throw new FetchError('protocol', reason, { isRetryable: true })
  throw new SourceFetchError('status', reason)
}

type RequestedFile = {
  from: number
  validator: string | null
  /** The error for a status, if it is not the usual one. */
  refusal?: (response: GuardedResponse) => Error | undefined
} & Pick<GuardedRequest, 'headers' | 'signal'>

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
  deps: DownloadDeps,
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
  deps: DownloadDeps,
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
async function discard(
  { db, files, queue }: DownloadDeps,
  { video_id: videoId, handle }: SourceRow,
): Promise<void> {
  for (const { place, size } of await chunkStore.listChunks(db, videoId)) {
    if (place) await files.removeChunk(handle, { location: place, size })
  }
  await db.transaction().execute(async (trx) => {
    await lockDiscardState(trx, videoId)
    const source = await store.lockSource(trx, videoId)
    if (source) await discardArrived(queue, trx, source)
    await chunkStore.deleteChunks(trx, videoId)
  })
}

async function countReceived({ db }: DownloadDeps, videoId: string): Promise<number> {
  return (await store.findSource(db, videoId))?.received_bytes ?? 0
}

async function complete(deps: DownloadDeps, videoId: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (source?.state === 'receiving') await markReceived(deps, trx, videoId, source.received_bytes)
  })
}
