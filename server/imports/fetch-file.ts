import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { FetchError } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import { RunError } from '../lib/run.ts'
import { withWorkFolder } from '../lib/work.ts'
import { blameOf } from '../media/failure.ts'
import type { OpenFile } from '../uploads/fetch/download.ts'
import { SourceFetchError } from '../uploads/fetch/errors.ts'
import { fetchInto } from '../uploads/fetch/fetch-into.ts'
import { FetchPaused } from '../uploads/fetch/pause-fetch.ts'
import { joinHls } from './hls/join.ts'
import type { ItemWork } from './item-work.ts'
import { ItemFailed } from './outcomes.ts'
import { recordFetchSpeed } from './run-store.ts'
import { ServiceError } from './services/errors.ts'
import type { KnownItem } from './services/service.ts'
import { slowDown } from './slow-down.ts'

/** The speed of smaller files is that of the requests. */
const minMeasuredBytes = 1024 * 1024

/** Fetches the file of a video, of the best quality that the service returns. */
export async function fetchFile(
  work: ItemWork,
  item: KnownItem,
  videoId: string,
  notes: string[],
): Promise<void> {
  const hls = await work.library.findLarger?.(item)
  if (hls === undefined || !(await fetchJoined(work, hls, videoId, notes)))
    await fetchRemote(work, item, videoId, notes)
}

/** False, with a note, if the HLS version cannot be joined to a file. A retry fetches it from the beginning. */
function fetchJoined(work: ItemWork, hls: string, videoId: string, notes: string[]): Promise<boolean> {
  return withWorkFolder(work.context, async (folder) => {
    let path: string
    try {
      path = await joinHls(work, hls, folder)
    } catch (error) {
      const isFinal =
        (error instanceof ServiceError && !error.isRetryable) ||
        (error instanceof SourceFetchError && error.failure === 'status') ||
        (error instanceof RunError && blameOf(error) === 'file')
      if (!isFinal) throw error
      const reason = error instanceof RunError ? 'It cannot be written into one file.' : error.message
      notes.push(`The MP4 was imported, although the HLS version has a higher resolution. ${reason}`)
      return false
    }
    await store(work, videoId, () => openLocal(path))
    return true
  })
}

/** A file of this process, which has no parts that an earlier one has read. */
async function openLocal(path: string): Promise<GuardedResponse> {
  const body = createReadStream(path)
  return {
    ...{ status: 200, url: '', headers: { 'content-length': String((await stat(path)).size) } },
    body,
    cancel: () => body.destroy(),
  }
}

/** Stores the file that the service returns. */
async function fetchRemote(work: ItemWork, item: KnownItem, videoId: string, notes: string[]): Promise<void> {
  const { context, library, run } = work
  let bytes = 0
  async function* counted(body: AsyncIterable<Buffer>) {
    for await (const chunk of body) {
      bytes += chunk.length
      yield chunk
    }
  }
  const startedAt = performance.now()
  await store(work, videoId, async (from, validator) => {
    const response = await library.open(item, from, validator).catch((error) => {
      if (error instanceof ServiceError)
        throw error.isRetryable
          ? new FetchError('dropped', error.message)
          : new SourceFetchError('status', error.message)
      throw error
    })
    const { note } = response
    if (note !== undefined && !notes.includes(note)) notes.push(note)
    return { ...response, body: counted(slowDown(context, run, response.body)) }
  })
  const speed = (1000 * bytes) / (performance.now() - startedAt)
  if (bytes >= minMeasuredBytes) await recordFetchSpeed(context.db, run.id, speed)
}

async function store({ context, signal }: ItemWork, videoId: string, open: OpenFile): Promise<void> {
  try {
    await fetchInto(context, videoId, open, signal)
  } catch (error) {
    if (error instanceof FetchPaused) throw new ItemFailed('The video was deleted while it was imported.')
    if (error instanceof SourceFetchError) throw new ItemFailed(error.message)
    throw error
  }
}
