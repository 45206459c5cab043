import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { FetchError } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import type { Lease } from '../lib/leases.ts'
import type { WorkerContext } from '../slice.ts'
import { SourceFetchError } from '../uploads/fetch/errors.ts'
import { fetchInto } from '../uploads/fetch/fetch-into.ts'
import { FetchPaused } from '../uploads/fetch/pause-fetch.ts'
import type { Item } from './item-store.ts'
import { findKnown, type Known, updateObject } from './object-store.ts'
import { originOf } from './origin.ts'
import { ItemFailed, ItemSkipped } from './outcomes.ts'
import { type Run, recordFetchSpeed } from './run-store.ts'
import { hasExtras, saveExtras } from './save/extras.ts'
import { saveLiveStream } from './save/live-stream.ts'
import { savePlayer } from './save/player.ts'
import { saveVideo } from './save/video.ts'
import { saveWebhook } from './save/webhook.ts'
import type { ServiceClient } from './services/client.ts'
import { ServiceError } from './services/errors.ts'
import type { Library } from './services/service.ts'
import { slowDown } from './slow-down.ts'
import { endItem, setProgress } from './work-store.ts'

/** The speed of smaller files is that of the requests. */
const minMeasuredBytes = 1024 * 1024

export type ItemWork = {
  context: WorkerContext & { imageLimit: ConcurrencyLimit }
  client: ServiceClient
  library: Library
  run: Run
  lease: Lease
  signal: AbortSignal
}

/** Imports an object and records the result. Every step can be repeated: a retry continues where the last one ended. */
export async function importItem(work: ItemWork, item: Item): Promise<void> {
  const { context, run } = work
  const known = (await findKnown(context.db, originOf(run), item.kind, [item.source_id])).get(item.source_id)
  if (item.kind === 'video') return importVideo(work, item, known)
  const existing = known?.exists ? known.objectId : undefined
  const notes: string[] = []
  const listed = { ...item, id: item.source_id }
  const details = (await work.library.detailsOf?.(listed)) ?? item.details
  const saved = { item: { ...listed, details }, existing, notes }
  const objectId =
    item.kind === 'player'
      ? await savePlayer(context, work.client, run, saved)
      : item.kind === 'liveStream'
        ? await saveLiveStream(context, run, saved)
        : await saveWebhook(context, run, saved)
  await complete(work, item, { state: 'done', objectId, notes })
}

async function importVideo(work: ItemWork, item: Item, known: Known | undefined): Promise<void> {
  const { context, client, library, run } = work
  const source = { ...item, id: item.source_id, contentVersion: item.content_version }
  const isSameFile = known?.contentVersion === item.content_version
  const existing = known?.exists && isSameFile ? known.objectId : undefined
  let videoId = existing
  let { notes } = item
  if (existing === undefined || known?.version !== item.version) {
    const found = await library.describe(source)
    notes = [...found.notes]
    if (known?.exists && !isSameFile)
      notes.push(`The file has changed: this is a new video beside the earlier ${known.objectId}.`)
    if (found.missing !== null && existing === undefined) throw new ItemSkipped(found.missing)
    const isAll = !hasExtras(found)
    videoId = await saveVideo(context, run, source, { description: found, existing, notes, isAll })
    if (!isAll) {
      await saveExtras(context, client, run, { videoId, found, notes })
      await recordExtras(work, item, videoId, notes)
    }
  }
  if (videoId === undefined) throw new Error('the video has no id')
  if (!known?.isComplete || existing === undefined) await fetchFile(work, item, videoId, notes)
  await complete(work, item, { state: 'encoding', objectId: videoId, notes })
}

const keyOf = ({ run_id, kind, source_id }: Item) => ({ runId: run_id, kind, sourceId: source_id })

/** All but the file is there. */
async function recordExtras({ context, run }: ItemWork, item: Item, objectId: string, notes: string[]) {
  const key = keyOf(item)
  await context.db.transaction().execute(async (trx) => {
    await setProgress(trx, key, { objectId, notes })
    await updateObject(trx, originOf(run), key, { version: item.version })
  })
}

async function complete(
  { context, run, lease }: ItemWork,
  item: Item,
  result: { state: 'done' | 'encoding'; objectId: string; notes: string[] },
): Promise<void> {
  await context.db.transaction().execute(async (trx) => {
    await endItem(trx, lease, result)
    await updateObject(trx, originOf(run), keyOf(item), { version: item.version, is_complete: true })
  })
}

async function fetchFile(
  { context, library, run, signal }: ItemWork,
  item: Item,
  videoId: string,
  notes: string[],
) {
  const source = { ...item, id: item.source_id }
  const open = async (from: number, validator: string | null): Promise<GuardedResponse> => {
    const response = await library.open(source, from, validator).catch((error) => {
      if (error instanceof ServiceError)
        throw error.isRetryable
          ? new FetchError('dropped', error.message)
          : new SourceFetchError('status', error.message)
      throw error
    })
    const { note } = response
    if (note !== undefined && !notes.includes(note)) notes.push(note)
    return { ...response, body: counted(slowDown(context, run, response.body)) }
  }
  let bytes = 0
  async function* counted(body: AsyncIterable<Buffer>) {
    for await (const chunk of body) {
      bytes += chunk.length
      yield chunk
    }
  }
  const startedAt = performance.now()
  try {
    await fetchInto(context, videoId, open, signal)
    const speed = (1000 * bytes) / (performance.now() - startedAt)
    if (bytes >= minMeasuredBytes) await recordFetchSpeed(context.db, run.id, speed)
  } catch (error) {
    if (error instanceof FetchPaused) throw new ItemFailed('The video was deleted while it was imported.')
    if (error instanceof SourceFetchError) throw new ItemFailed(error.message)
    throw error
  }
}
