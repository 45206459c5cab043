import type { Db } from '../lib/db.ts'
import { FetchError, UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { isId } from '../lib/ids.ts'
import type { Lease } from '../lib/leases.ts'
import type { WorkerContext } from '../slice.ts'
import type { Tables } from '../tables.ts'
import { SourceFetchError } from '../uploads/fetch/errors.ts'
import * as items from './item-store.ts'
import { objectKinds } from './kinds.ts'
import { findKnown, findTaken, type Known } from './object-store.ts'
import { originOf } from './origin.ts'
import * as runs from './run-store.ts'
import { takenReason } from './save/choose-id.ts'
import { fit } from './save/text.ts'
import { ServiceBusy, ServiceError } from './services/errors.ts'
import { array, string, time } from './services/json.ts'
import type { Library, ListedObject } from './services/service.ts'

/** More than any library has. A list that never ends would otherwise fill the database. */
const maxItems = 2_000_000
const maxIdLength = 1_500
const maxCursorLength = 2_000
const maxDetailsLength = 100_000
/** Of a preview: how many videos are measured if the list does not tell their size. */
const maxMeasured = 50
const maxSampleBytes = 16 * 1024 * 1024
const maxSampleMs = 3_000

/** The cursor of a preview whose list is complete. */
const measureCursor = 'measure'

/** Lists the next page of a run, and records what is to be done about each object. */
export async function listNextPage(
  { db }: Pick<WorkerContext, 'db'>,
  lease: Lease,
  run: runs.Run,
  library: Library,
): Promise<void> {
  if (run.cursor === measureCursor) return measureSample(db, lease, run, library)
  const page = await library.list(run.cursor)
  const listed = page.items.filter((item) => isWanted(run, item)).map(readListed)
  const decided = await decide(db, run, listed)
  const { limit = maxItems } = run.options
  const videos = await items.countVideos(db, run.id)
  const kept = withinLimit(decided, limit - videos)
  const isFull = run.options.limit !== undefined && kept.length < decided.length
  const next = isFull ? (library.afterVideos ?? null) : page.next
  if (next !== null && next.length > maxCursorLength)
    throw new ServiceError('The service has sent a cursor that is too long.')
  await db.transaction().execute(async (trx) => {
    const inserted = await items.insertItems(trx, run.id, kept)
    const isRepeated = next !== null && (next === run.cursor || (inserted === 0 && kept.length > 0))
    if (isRepeated || videos > maxItems) throw new ServiceError('The list of the service does not end.')
    const cursor = next ?? (run.is_preview && library.measure ? measureCursor : null)
    // The items would otherwise count as repeated when the next worker lists the page again.
    if (!(await runs.recordPage(trx, lease, cursor))) throw new Error('the lease was lost')
  })
}

/** Measures a sample, so that a preview can estimate the rest. */
async function measureSample(db: Db<Tables>, lease: Lease, run: runs.Run, library: Library): Promise<void> {
  for (const item of await items.listUnmeasured(db, run.id, maxMeasured)) {
    const measured = await library.measure?.({ ...item, id: item.source_id }).catch(ignoreServiceErrors)
    if (measured)
      await items.setMeasures(db, item.id, { ...measured, seconds: measured.seconds ?? item.seconds })
  }
  const speed = await measureSpeed(db, run, library)
  if (speed !== undefined) await runs.recordFetchSpeed(db, run.id, speed)
  await runs.recordPage(db, lease, null)
}

/** Bytes per second of a file, as far as it arrives in a few seconds. */
async function measureSpeed(db: Db<Tables>, run: runs.Run, library: Library): Promise<number | undefined> {
  const item = await items.findSample(db, run.id)
  const startedAt = performance.now()
  const response = item && (await library.peek?.({ ...item, id: item.source_id }).catch(ignoreServiceErrors))
  if (!response) return undefined
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes >= maxSampleBytes || performance.now() > startedAt + maxSampleMs) break
    }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
  } finally {
    response.cancel()
  }
  return bytes === 0 ? undefined : (1000 * bytes) / (performance.now() - startedAt)
}

/** An estimate is not worth a retry. */
function ignoreServiceErrors(error: unknown): undefined {
  const isExpected = [ServiceError, ServiceBusy, FetchError, SourceFetchError, UrlNotAllowedError].some(
    (type) => error instanceof type,
  )
  if (isExpected) return undefined
  throw error
}

/** A service may ignore the filters. */
function isWanted({ options }: runs.Run, { kind, details }: ListedObject): boolean {
  if (kind !== 'video') return true
  const { since, tags = [] } = options
  const createdAt = time(details.createdAt)
  if (since !== undefined && createdAt && createdAt <= new Date(since)) return false
  const found = details.tags === undefined ? undefined : array(details.tags).map(string)
  return !found || tags.every((tag) => found.includes(tag))
}

export function readListed(item: ListedObject): ListedObject {
  const id = string(item.id)
  if (id === '' || id.length > maxIdLength)
    throw new ServiceError('The service has listed an object without a usable id.')
  if (!objectKinds.includes(item.kind)) throw new Error(`${item.kind} is no kind of object`)
  const details = JSON.stringify(item.details).length > maxDetailsLength ? {} : item.details
  return {
    ...item,
    id,
    details,
    title: fit(string(item.title), 1_000, 'title', []),
    version: string(item.version).slice(0, 500),
    contentVersion: string(item.contentVersion).slice(0, 500),
    bytes: item.bytes !== null && Number.isSafeInteger(item.bytes) && item.bytes >= 0 ? item.bytes : null,
    seconds: item.seconds !== null && item.seconds >= 0 ? item.seconds : null,
  }
}

/** What happens with each object: it is imported, or skipped for a reason. */
export async function decide(
  db: Db<Tables>,
  run: runs.Run,
  listed: ListedObject[],
): Promise<items.NewItem[]> {
  const decided: items.NewItem[] = []
  for (const kind of objectKinds) {
    const ofKind = listed.filter((item) => item.kind === kind)
    if (ofKind.length === 0) continue
    const ids = ofKind.map(({ id }) => id)
    const known = await findKnown(db, originOf(run), kind, ids)
    const taken = run.options.keepIds ? await findTaken(db, kind, ids) : new Set<string>()
    decided.push(...ofKind.map((item) => ({ ...item, ...decideOne(item, known.get(item.id), taken) })))
  }
  return decided
}

function decideOne(
  item: ListedObject,
  known: Known | undefined,
  taken: Set<string>,
): Pick<items.NewItem, 'state' | 'reason' | 'objectId'> {
  if (known?.exists) {
    const isCurrent = known.version === item.version && known.contentVersion === item.contentVersion
    if (known.isComplete && isCurrent)
      return {
        state: 'skipped',
        reason: 'It was imported before and has not changed.',
        objectId: known.objectId,
      }
    return { state: 'waiting', reason: null, objectId: known.objectId }
  }
  if (item.kind !== 'webhook' && isId(prefixes[item.kind], item.id) && taken.has(item.id))
    return { state: 'skipped', reason: takenReason(item.id), objectId: null }
  return { state: 'waiting', reason: null, objectId: null }
}

const prefixes = { player: 'pl', video: 'vi', liveStream: 'li' }

/** Without the videos after the limit. Those that are skipped count, so that repeated runs do not differ. */
function withinLimit(decided: items.NewItem[], videosLeft: number): items.NewItem[] {
  let left = videosLeft
  return decided.filter(({ kind }) => kind !== 'video' || left-- > 0)
}
