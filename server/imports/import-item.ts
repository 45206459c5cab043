import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { FetchError } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import type { Lease } from '../lib/leases.ts'
import type { WorkerContext } from '../slice.ts'
import { SourceFetchError } from '../uploads/fetch/errors.ts'
import { fetchInto } from '../uploads/fetch/fetch-into.ts'
import { FetchPaused } from '../uploads/fetch/pause-fetch.ts'
import * as items from './item-store.ts'
import { originOf } from './origin.ts'
import { ItemFailed, ItemSkipped } from './outcomes.ts'
import { type Run, recordFetchSpeed } from './run-store.ts'
import { saveExtras } from './save/extras.ts'
import { saveLiveStream } from './save/live-stream.ts'
import { savePlayer } from './save/player.ts'
import { saveVideo } from './save/video.ts'
import { saveWebhook } from './save/webhook.ts'
import type { ServiceClient } from './services/client.ts'
import { ServiceError } from './services/errors.ts'
import type { Library } from './services/service.ts'
import { slowDown } from './slow-down.ts'

export type ItemWork = {
  context: WorkerContext & { imageLimit: ConcurrencyLimit }
  client: ServiceClient
  library: Library
  run: Run
  lease: Lease
  signal: AbortSignal
}

/** Imports an object and records the result. Every step can be repeated: a retry continues where the last one ended. */
export async function importItem(work: ItemWork, item: items.Item): Promise<void> {
  const { context, run, lease } = work
  const { db } = context
  const notes: string[] = []
  const known = (await items.findKnown(db, originOf(run), item.kind, [item.source_id])).get(item.source_id)
  if (item.kind === 'video') return importVideo(work, item, known)
  const existing = known?.exists ? known.objectId : undefined
  const saved = { item: { ...item, id: item.source_id }, existing, notes }
  const objectId =
    item.kind === 'player'
      ? await savePlayer(context, work.client, run, saved)
      : item.kind === 'liveStream'
        ? await saveLiveStream(context, run, saved)
        : await saveWebhook(context, run, saved)
  await complete(work, item, { version: item.version, is_complete: true })
  await items.endItem(db, lease, { state: 'done', objectId, notes })
}

const complete = (
  { context, run }: ItemWork,
  item: items.Item,
  change: { version?: string; is_complete?: boolean },
) => items.updateObject(context.db, originOf(run), { kind: item.kind, sourceId: item.source_id }, change)

async function importVideo(work: ItemWork, item: items.Item, known: items.Known | undefined): Promise<void> {
  const { context, client, library, run, lease } = work
  const { db } = context
  const source = { ...item, id: item.source_id, contentVersion: item.content_version }
  const isSameFile = known?.contentVersion === item.content_version
  const existing = known?.exists && isSameFile ? known.objectId : undefined
  let videoId = existing
  const notes = [...item.notes]
  if (existing === undefined || known?.version !== item.version) {
    const found = await library.describe(source)
    notes.splice(0, notes.length, ...found.notes)
    if (known?.exists && !isSameFile)
      notes.push(`The file has changed: this is a new video beside the earlier ${known.objectId}.`)
    if (found.missing !== null && existing === undefined) throw new ItemSkipped(found.missing)
    videoId = await saveVideo(context, run, source, { description: found, existing, notes })
    await items.setObject(db, lease, videoId)
    await saveExtras(context, client, run, { videoId, found, notes })
    await items.setNotes(db, lease, notes)
    await complete(work, item, { version: item.version })
  }
  if (videoId === undefined) throw new Error('the video has no id')
  await items.setObject(db, lease, videoId)
  if (!known?.isComplete || existing === undefined) await fetchFile(work, item, videoId, notes)
  await complete(work, item, { is_complete: true })
  await items.endItem(db, lease, { state: 'encoding', objectId: videoId, notes })
}

async function fetchFile(
  { context, library, run, signal }: ItemWork,
  item: items.Item,
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
    if (bytes > 0) await recordFetchSpeed(context.db, run.id, speed)
  } catch (error) {
    if (error instanceof FetchPaused) throw new ItemFailed('The video was deleted while it was imported.')
    if (error instanceof SourceFetchError) throw new ItemFailed(error.message)
    throw error
  }
}
