import { fetchFile } from './fetch-file.ts'
import type { Item } from './item-store.ts'
import type { ItemWork } from './item-work.ts'
import { findKnown, type Known, updateObject } from './object-store.ts'
import { originOf } from './origin.ts'
import { ItemSkipped } from './outcomes.ts'
import { hasExtras, saveExtras } from './save/extras.ts'
import { saveLiveStream } from './save/live-stream.ts'
import { savePlayer } from './save/player.ts'
import { saveVideo } from './save/video.ts'
import { saveWebhook } from './save/webhook.ts'
import { endItem, setProgress } from './work-store.ts'

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
  if (!known?.isComplete || existing === undefined) await fetchFile(work, source, videoId, notes)
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
