import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { AddressRefused, FetchFailed } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import type { GuardedFetch } from '../lib/fetch/guarded-fetch.ts'
import { FileMissing } from '../lib/files/files.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import { findSourceOfVideo } from '../videos/store.ts'
import { beginSource, ensurePlace, newSource, sourceKey } from './begin.ts'
import * as pieceStore from './piece-store.ts'
import { smallestPiece } from './range.ts'
import * as store from './store.ts'
import type { SourceRow } from './tables.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'> & { fetch: GuardedFetch }

/** Why the content of a video cannot be had; shown to its owner. */
class Unfetchable extends Error {}

/** A worker that is killed loses at most one piece. */
const pieceBytes = 64 * 1024 * 1024
/** Against addresses that never end; one that tells its length may have any. */
const mostUntoldBytes = 100 * 1024 ** 3
const tries = 5

/** Brings the content of a video from the address or the video that it was created with. */
export async function fetchSource(deps: Deps, { videoId }: { videoId: string }): Promise<void> {
  const video = await findSourceOfVideo(deps.db, videoId)
  if (!video?.source_reference) {
    await removeIfDeleted(deps, videoId)
    return
  }
  const form = video.source_type === 'clone' ? 'clone' : 'url'
  const source = await ensureSource(deps, videoId, form)
  if (source?.state !== 'receiving') return
  try {
    if (form === 'clone') await copySource(deps, videoId, video.source_reference)
    else await download(deps, source, video.source_reference)
  } catch (error) {
    if (!(error instanceof Unfetchable)) throw error
    deps.log.info({ videoId, reason: error.message }, 'a source cannot be fetched')
    await store.updateSource(deps.db, videoId, {
      state: 'failed',
      failure: error.message,
      updated_at: deps.now(),
    })
    await deps.files.abandonUpload(source.handle)
  }
}

async function ensureSource(
  deps: Deps,
  videoId: string,
  form: 'url' | 'clone',
): Promise<SourceRow | undefined> {
  const found = await store.findSource(deps.db, videoId)
  if (found) return ensurePlace(deps, found)
  const sender = { created_by: null, token: null, filename: null, address: null }
  await beginSource(deps, videoId, (handle) => newSource(videoId, form, handle, sender, deps.now()))
  return store.findSource(deps.db, videoId)
}

async function copySource(deps: Deps, videoId: string, from: string): Promise<void> {
  const original = await store.findSource(deps.db, from)
  // One that is still on its way wakes those who wait for it.
  if (original?.state === 'receiving' || original?.state === 'received') return
  if (original?.state !== 'stored') throw new Unfetchable('The video to copy has no content.')
  try {
    await deps.files.copy(sourceKey(from), sourceKey(videoId))
  } catch (error) {
    if (error instanceof FileMissing) throw new Unfetchable('The video to copy was deleted.')
    throw error
  }
  const change = { state: 'stored', size: original.size, updated_at: deps.now() } as const
  const isNoted = await deps.db.transaction().execute(async (trx) => {
    if (!(await store.lockSource(trx, videoId))) return false
    await store.updateSource(trx, videoId, change)
    await deps.queue.send(trx, 'plan-encoding', { videoId })
    return true
  })
  if (!isNoted) await removeIfDeleted(deps, videoId)
}

async function download(deps: Deps, source: SourceRow, address: string): Promise<void> {
  const { video_id: videoId } = source
  let validator = source.validator
  for (let attempt = 1; ; attempt++) {
    const before = await receivedBytes(deps, videoId)
    try {
      const response = await request(deps.fetch, address, before, validator)
      const isResumed = response.status === 206
      if (!isResumed && before > 0) await discard(deps, source)
      validator = validatorOf(response)
      const total = totalOf(response, isResumed ? before : 0)
      await store.updateSource(deps.db, videoId, { total, validator, updated_at: deps.now() })
      try {
        await receiveAll(deps, source, response, isResumed ? before : 0, total)
      } finally {
        // However it ended: an answer that is not read to its end keeps its connection.
        response.cancel()
      }
      return await complete(deps, videoId)
    } catch (error) {
      if (error instanceof AddressRefused) throw new Unfetchable(error.message)
      if (!(error instanceof FetchFailed)) throw error
      // Whoever gets on is given all tries again.
      if ((await receivedBytes(deps, videoId)) > before) attempt = 0
      if (!error.isRetryable || attempt === tries) throw new Unfetchable(error.message)
      await delay(Math.min(30_000, 1_000 * 2 ** attempt))
    }
  }
}

async function request(fetch: GuardedFetch, address: string, from: number, validator: string | null) {
  const headers: Record<string, string> = {}
  if (from > 0 && validator) Object.assign(headers, { range: `bytes=${from}-`, 'if-range': validator })
  const response = await fetch.request(address, {
    headers,
    maxRedirects: 10,
    connectTimeoutMs: 10_000,
    headersTimeoutMs: 30_000,
    idleTimeoutMs: 30_000,
  })
  const startsAt = /^bytes (\d+)-/.exec(String(response.headers['content-range'] ?? ''))?.[1]
  if (response.status === 200 || (response.status === 206 && Number(startsAt) === from)) return response
  response.cancel()
  const reason = `The server answered ${response.status}.`
  if (response.status >= 500 || response.status === 429)
    throw new FetchFailed('protocol', reason, { isRetryable: true })
  throw new Unfetchable(reason)
}

const validatorOf = ({ headers }: GuardedResponse) => {
  const etag = headers.etag
  // A weak one does not promise the same bytes.
  return etag && !etag.startsWith('W/') ? etag : (headers['last-modified'] ?? null)
}

function totalOf({ headers }: GuardedResponse, from: number): number | null {
  const length = Number(headers['content-length'])
  return headers['content-length'] && Number.isSafeInteger(length) ? from + length : null
}

/** Writes the body in pieces. One that a dropped connection cuts short counts as far as it came. */
async function receiveAll(
  deps: Deps,
  source: SourceRow,
  response: GuardedResponse,
  from: number,
  total: number | null,
) {
  const chunks = response.body[Symbol.asyncIterator]()
  let offset = from
  let failure: unknown
  let isDone = false
  async function* onePiece(): AsyncGenerator<Buffer> {
    for (let size = 0; size < pieceBytes; ) {
      try {
        const { value, done } = await chunks.next()
        if (done) {
          isDone = true
          return
        }
        size += value.length
        yield value
      } catch (error) {
        failure = error
        return
      }
    }
  }
  while (!isDone && failure === undefined) {
    const size = await writePiece(deps, source, offset, onePiece(), () => failure !== undefined)
    offset += size
    if (total === null && offset > mostUntoldBytes) throw new Unfetchable('The file does not end.')
  }
  if (failure !== undefined) throw failure
  if (offset === 0) throw new Unfetchable('The file is empty.')
}

async function writePiece(
  { db, files, now }: Deps,
  { video_id: videoId, handle }: SourceRow,
  offset: number,
  body: AsyncGenerator<Buffer>,
  isCutShort: () => boolean,
): Promise<number> {
  const piece = await files.writePiece(handle, offset, offset, body)
  // Stores take small pieces at the end only.
  if (piece.size === 0 || (isCutShort() && piece.size < smallestPiece)) {
    await files.removePiece(handle, piece)
    return 0
  }
  const isKnown = await db.transaction().execute(async (trx) => {
    if (!(await store.lockSource(trx, videoId))) return false
    await pieceStore.addPiece(trx, videoId, offset, piece)
    await store.updateSource(trx, videoId, { updated_at: now() })
    return true
  })
  if (!isKnown) throw new Unfetchable('The video was deleted.')
  return piece.size
}

/** The server does not go on where it stopped, or has another file now. */
async function discard({ db, files }: Deps, { video_id: videoId, handle }: SourceRow): Promise<void> {
  for (const { place, size } of await pieceStore.listPieces(db, videoId)) {
    if (place) await files.removePiece(handle, { place, size })
  }
  await db.transaction().execute((trx) => pieceStore.deletePieces(trx, videoId))
}

async function receivedBytes({ db }: Deps, videoId: string): Promise<number> {
  return (await store.findSource(db, videoId))?.received_bytes ?? 0
}

async function complete({ db, queue, now }: Deps, videoId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (source?.state !== 'receiving') return
    const { received_bytes: size } = source
    await store.updateSource(trx, videoId, { state: 'received', size, updated_at: now() })
    await queue.send(trx, 'store-source', { videoId })
  })
}

/** Those who wait for a video to be whole look again: it is, or never will be. */
export async function wakeClones(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  videoId: string,
): Promise<void> {
  for (const clone of await store.listWaitingClones(db, videoId))
    await queue.send(db, 'fetch-source', { videoId: clone })
}
