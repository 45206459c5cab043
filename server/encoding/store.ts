import { type Selectable, sql, type Transaction } from 'kysely'
import { environments } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Encoding } from '../renditions/store.ts'
import type { InitializationRow, RenditionRow, SegmentsRow } from '../renditions/tables.ts'
import type { Tables } from '../tables.ts'
import type { ChunkRow } from './tables.ts'

export {
  type Encoding,
  findEncoding,
  findInitialization,
  listRenditions,
  listSegments,
} from '../renditions/store.ts'

export type ClaimedChunk = Selectable<ChunkRow> & { holder: string }
export type NewChunk = Pick<ChunkRow, 'track' | 'qualities' | 'first_segment' | 'segments' | 'priority'>

/** Told when there may be something to encode. */
export const chunksChannel = 'kinora_chunks'

export async function announceChunks(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${chunksChannel}, '')`.execute(db)
}

export function findVideo(db: Db<Tables>, videoId: string) {
  return db
    .selectFrom('videos')
    .select(['id', 'environment', 'mp4_support', 'clip'])
    .where('id', '=', videoId)
    .executeTakeFirst()
}

// --- encodings

/** Whoever changes the state of an encoding or of its renditions holds this row. */
export function lockEncoding(trx: Transaction<Tables>, videoId: string): Promise<Encoding | undefined> {
  return trx
    .selectFrom('encodings')
    .selectAll()
    .where('video_id', '=', videoId)
    .forUpdate()
    .executeTakeFirst()
}

/** False when there is one already. */
export async function insertEncoding(
  trx: Transaction<Tables>,
  row: Pick<Encoding, 'video_id' | 'environment' | 'state' | 'failure' | 'media' | 'plan' | 'created_at'>,
): Promise<boolean> {
  const inserted = await trx
    .insertInto('encodings')
    .values({ ...row, media: JSON.stringify(row.media), plan: row.plan && JSON.stringify(row.plan) })
    .onConflict((c) => c.doNothing())
    .returning('video_id')
    .executeTakeFirst()
  return inserted !== undefined
}

export async function updateEncoding(
  trx: Transaction<Tables>,
  videoId: string,
  change: Partial<Pick<Encoding, 'state' | 'failure' | 'sound_failure' | 'finished_at'>>,
): Promise<void> {
  await trx.updateTable('encodings').set(change).where('video_id', '=', videoId).execute()
}

export async function deleteEncoding(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('encodings').where('video_id', '=', videoId).execute()
}

// --- renditions

export async function insertRenditions(trx: Transaction<Tables>, rows: RenditionRow[]): Promise<void> {
  if (rows.length > 0) await trx.insertInto('renditions').values(rows).execute()
}

export async function updateRendition(
  db: Db<Tables>,
  { video_id, type, quality }: Pick<RenditionRow, 'video_id' | 'type' | 'quality'>,
  change: Partial<Pick<RenditionRow, 'state' | 'failure' | 'key' | 'quality' | 'height'>>,
): Promise<void> {
  await db
    .updateTable('renditions')
    .set(change)
    .where('video_id', '=', video_id)
    .where('type', '=', type)
    .where('quality', '=', quality)
    .execute()
}

export async function deleteMp4(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('renditions').where('video_id', '=', videoId).where('type', '=', 'mp4').execute()
}

export async function startRenditions(db: Db<Tables>, { video_id, qualities }: ClaimedChunk): Promise<void> {
  await db
    .updateTable('renditions')
    .set({ state: 'encoding' })
    .where('video_id', '=', video_id)
    .where('type', '=', 'hls')
    .where('quality', '=', sql<string>`any(${qualities})`)
    .where('state', '=', 'waiting')
    .execute()
}

// --- chunks

export async function insertChunks(
  trx: Transaction<Tables>,
  { video_id, environment }: Pick<Encoding, 'video_id' | 'environment'>,
  chunks: (NewChunk & { failures?: number })[],
): Promise<void> {
  const rows = chunks.map((chunk) => ({ ...chunk, video_id, environment, not_before: sql<Date>`now()` }))
  // A statement has at most 65,535 values.
  for (let at = 0; at < rows.length; at += 1_000)
    await trx
      .insertInto('chunks')
      .values(rows.slice(at, at + 1_000))
      .execute()
}

/** A worker that did not renew its claim is gone. */
export async function releaseLost(db: Db<Tables>): Promise<void> {
  await sql`
    update chunks set holder = null, held_until = null, losses = losses + 1
    where id in (select id from chunks where holder is not null and held_until < now() for update skip locked)
  `.execute(db)
}

/**
 * The chunk to encode next. The environment that has less under way comes first, and in it the chunk nearest to its
 * video's beginning: a long video waits for the beginning of a short one, not the other way round.
 */
export async function claimChunk(
  db: Db<Tables>,
  holder: string,
  holdMs: number,
): Promise<ClaimedChunk | undefined> {
  const busy = await db
    .selectFrom('chunks')
    .select(['environment', (eb) => eb.fn.countAll<number>().as('chunks')])
    .where('holder', 'is not', null)
    .groupBy('environment')
    .execute()
  const load = (name: string) => busy.find(({ environment }) => environment === name)?.chunks ?? 0
  // With as much under way in both, either: one that always came first would leave a single slot to nobody else.
  const order = [...environments].sort((a, b) => load(a) - load(b) || Math.random() - 0.5)
  for (const environment of order) {
    const { rows } = await sql<ClaimedChunk>`
      update chunks set holder = ${holder}, held_until = now() + ${holdMs} * interval '1 millisecond'
      where id = (
        select id from chunks
        where environment = ${environment} and holder is null and not_before <= now()
        order by priority, id limit 1 for update skip locked)
      returning *`.execute(db)
    if (rows[0]) return rows[0]
  }
  return undefined
}

/** False when the chunk is no longer the holder's: it was deleted with its video, or given to another. */
export async function keepChunk(db: Db<Tables>, chunk: ClaimedChunk, holdMs: number): Promise<boolean> {
  const { rows } = await sql`
    update chunks set held_until = now() + ${holdMs} * interval '1 millisecond'
    where id = ${chunk.id} and holder = ${chunk.holder} returning id`.execute(db)
  return rows.length > 0
}

/** Gives a chunk back: to be taken up after a while, with what it counts as. */
export async function returnChunk(
  db: Db<Tables>,
  chunk: ClaimedChunk,
  { afterMs, failures, losses = chunk.losses }: { afterMs: number; failures: number; losses?: number },
): Promise<void> {
  await sql`
    update chunks set holder = null, held_until = null, failures = ${failures}, losses = ${losses},
      not_before = now() + ${afterMs} * interval '1 millisecond'
    where id = ${chunk.id} and holder = ${chunk.holder}`.execute(db)
}

/** What is still wanted of a chunk: a quality may have failed elsewhere. Undefined when it is no longer the holder's. */
export async function findWanted(
  trx: Transaction<Tables>,
  chunk: ClaimedChunk,
): Promise<{ qualities: string[] } | undefined> {
  return trx
    .selectFrom('chunks')
    .select('qualities')
    .where('id', '=', chunk.id)
    .where('holder', '=', chunk.holder)
    .forUpdate()
    .executeTakeFirst()
}

export async function deleteChunk(trx: Transaction<Tables>, { id }: ClaimedChunk): Promise<void> {
  await trx.deleteFrom('chunks').where('id', '=', id).execute()
}

/** Nobody works on this quality any more. */
export async function dropQuality(trx: Transaction<Tables>, videoId: string, quality: string): Promise<void> {
  await sql`update chunks set qualities = array_remove(qualities, ${quality})
            where video_id = ${videoId} and track = 'picture'`.execute(trx)
  await trx
    .deleteFrom('chunks')
    .where('video_id', '=', videoId)
    .where('track', '=', 'picture')
    .where('qualities', '=', sql<string[]>`'{}'`)
    .execute()
}

export async function dropSound(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('chunks').where('video_id', '=', videoId).where('track', '=', 'sound').execute()
}

// --- what is encoded

export async function insertSegments(trx: Transaction<Tables>, rows: SegmentsRow[]): Promise<void> {
  await trx.insertInto('segments').values(rows).execute()
}

export async function insertInitialization(trx: Transaction<Tables>, row: InitializationRow): Promise<void> {
  await trx
    .insertInto('initializations')
    .values(row)
    .onConflict((c) => c.doNothing())
    .execute()
}

export async function deleteSegments(
  trx: Transaction<Tables>,
  videoId: string,
  rendition: string,
): Promise<void> {
  await trx
    .deleteFrom('segments')
    .where('video_id', '=', videoId)
    .where('rendition', '=', rendition)
    .execute()
}

/** Every file that is known of; undefined while there may be some that are not yet, or when there is no encoding. */
export async function listKeys(db: Db<Tables>, videoId: string): Promise<Set<string> | undefined> {
  const { rows } = await sql<{ keys: string[]; isBusy: boolean }>`
    select array(
        select key from segments where video_id = ${videoId}
        union all select key from renditions where video_id = ${videoId} and key is not null) as keys,
      exists (select from chunks where video_id = ${videoId})
        or exists (select from renditions where video_id = ${videoId} and type = 'mp4' and state = 'encoding')
        as "isBusy"
    from encodings where video_id = ${videoId}`.execute(db)
  return rows[0] && !rows[0].isBusy ? new Set(rows[0].keys) : undefined
}

/** How many segments of each rendition are there. */
export async function countSegments(db: Db<Tables>, videoId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('segments')
    .select(['rendition', (eb) => eb.fn.sum<number>(sql`cardinality(sizes)`).as('segments')])
    .where('video_id', '=', videoId)
    .groupBy('rendition')
    .execute()
  return new Map(rows.map(({ rendition, segments }) => [rendition, Number(segments)]))
}
