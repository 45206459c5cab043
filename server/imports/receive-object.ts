import type { Context } from '../context.ts'
import { ApiError } from '../lib/errors.ts'
import type { Static } from '../lib/schema.ts'
import { importsErrors } from './errors.ts'
import { insertItems, type NewItem } from './item-store.ts'
import { decide, readListed } from './list-page.ts'
import { findKnown, updateObject } from './object-store.ts'
import { originOf } from './origin.ts'
import { ItemFailed, ItemSkipped } from './outcomes.ts'
import type { Run } from './run-store.ts'
import { saveLiveStream } from './save/live-stream.ts'
import { savePlayer } from './save/player.ts'
import { saveVideo } from './save/video.ts'
import type { ReceivedObject } from './schemas.ts'
import { ServiceClient } from './services/client.ts'
import { describeExported } from './services/exported-video.ts'
import { setResult } from './work-store.ts'

type Outcome = {
  state: 'skipped' | 'fetching' | 'done' | 'failed'
  reason?: string
  objectId?: string
  notes: string[]
}

type Received = Pick<Outcome, 'state' | 'notes'> & { reason: string | null; objectId: string | null }

/**
 * Records an object that a client has sent, and creates it. A video has no file afterwards: the client uploads it, unless
 * it is skipped.
 */
export async function receiveObject(
  context: Context,
  run: Run,
  object: Static<typeof ReceivedObject>,
  signal: AbortSignal,
): Promise<Received> {
  if (run.service !== 'folder' || run.state !== 'running') throw new ApiError(importsErrors.ended)
  const { db } = context
  const { kind, sourceId, title, version, contentVersion, bytes, details } = object
  const listed = readListed({
    ...{ kind, id: sourceId, title, version, contentVersion, bytes: bytes ?? null, seconds: null },
    details: details ?? {},
  })
  const [item] = await decide(db, run, [listed])
  if (!item) throw new Error('there is one item')
  await db.transaction().execute((trx) => insertItems(trx, run.id, [item]))
  const notes: string[] = []
  const { reason, objectId } = item
  if (item.state === 'skipped') return { state: 'skipped', reason, objectId, notes }
  const outcome = await save(context, run, item, { notes, signal }).catch((error): Outcome => {
    if (error instanceof ItemSkipped) return { state: 'skipped', reason: error.message, notes }
    if (error instanceof ItemFailed) return { state: 'failed', reason: error.message, notes }
    throw error
  })
  await setResult(db, { runId: run.id, kind, sourceId: item.id }, outcome)
  return { reason: null, objectId, ...outcome }
}

async function save(
  context: Context,
  run: Run,
  item: NewItem,
  { notes, signal }: { notes: string[]; signal: AbortSignal },
): Promise<Outcome> {
  const { db } = context
  const known = (await findKnown(db, originOf(run), item.kind, [item.id])).get(item.id)
  const isSameFile = known?.contentVersion === item.contentVersion
  const existing = known?.exists && isSameFile ? known.objectId : undefined
  const at = { kind: item.kind, sourceId: item.id }
  if (item.kind === 'video') {
    const description = describeExported(item.title, item.details)
    const objectId = await saveVideo(context, run, item, { description, existing, notes, isAll: true })
    const isComplete = existing !== undefined && known?.isComplete
    return { state: isComplete ? 'done' : 'fetching', objectId, notes }
  }
  if (item.kind === 'webhook') throw new ItemSkipped('Webhooks are not imported from folders.')
  const saved = { item, existing, notes }
  const objectId =
    item.kind === 'player'
      ? await savePlayer(context, new ServiceClient(context.fetch, signal), run, saved)
      : await saveLiveStream(context, run, saved)
  await updateObject(db, originOf(run), at, { version: item.version, is_complete: true })
  return { state: 'done', objectId, notes }
}
