import { sql, type Transaction } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { SegmentCounts } from '../../videos/files.ts'
import type { InitializationRow, RenditionRow, SegmentsRow } from '../tables.ts'

// --- renditions

/** The lowest quality first. */
export function listRenditions(db: Db<Tables>, videoId: string): Promise<RenditionRow[]> {
  return db.selectFrom('renditions').selectAll().where('video_id', '=', videoId).orderBy('height').execute()
}

export const hasEnded = ({ state }: RenditionRow) => state === 'encoded' || state === 'failed'

export async function insertRenditions(trx: Transaction<Tables>, rows: RenditionRow[]): Promise<void> {
  if (rows.length > 0) await trx.insertInto('renditions').values(rows).execute()
}

export async function updateRendition(
  db: Db<Tables>,
  { video_id, type, quality }: Pick<RenditionRow, 'video_id' | 'type' | 'quality'>,
  change: Partial<Pick<RenditionRow, 'state' | 'failure' | 'key' | 'bytes' | 'quality' | 'height'>>,
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

/** Sets the HLS renditions of these qualities from waiting to encoding. */
export async function startRenditions(db: Db<Tables>, videoId: string, qualities: string[]): Promise<void> {
  await db
    .updateTable('renditions')
    .set({ state: 'encoding' })
    .where('video_id', '=', videoId)
    .where('type', '=', 'hls')
    .where('quality', '=', sql<string>`any(${qualities})`)
    .where('state', '=', 'waiting')
    .execute()
}

// --- segments

export function listSegments(db: Db<Tables>, videoId: string, rendition: string): Promise<SegmentsRow[]> {
  return db
    .selectFrom('segments')
    .selectAll()
    .where('video_id', '=', videoId)
    .where('rendition', '=', rendition)
    .orderBy('first_segment')
    .execute()
}

/** The rows, one per rendition, that contain this segment. */
export async function listRowsWithSegment(
  db: Db<Tables>,
  videoId: string,
  segment: number,
): Promise<SegmentsRow[]> {
  return db
    .selectFrom('segments')
    .selectAll()
    .where('video_id', '=', videoId)
    .where('first_segment', '<=', segment)
    .where(sql<boolean>`first_segment + cardinality(sizes) > ${segment}`)
    .execute()
}

/** The renditions whose first segment is stored. */
export async function listBegun(db: Db<Tables>, videoId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('segments')
    .select('rendition')
    .where('video_id', '=', videoId)
    .where('first_segment', '=', 0)
    .execute()
  return rows.map(({ rendition }) => rendition)
}

/** The number of segments of each rendition that has any. */
export async function countSegments(db: Db<Tables>, videoId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('segments')
    .select(['rendition', (eb) => eb.fn.sum<number>(sql`cardinality(sizes)`).as('segments')])
    .where('video_id', '=', videoId)
    .groupBy('rendition')
    .execute()
  return new Map(rows.map(({ rendition, segments }) => [rendition, Number(segments)]))
}

export async function insertSegments(trx: Transaction<Tables>, rows: SegmentsRow[]): Promise<void> {
  await trx.insertInto('segments').values(rows).execute()
}

/** Adds segments to a row that already has this many. Returns false if there is no such row any more. */
export async function appendSegments(
  trx: Transaction<Tables>,
  { video_id, rendition, key, sizes }: Omit<SegmentsRow, 'first_segment'>,
  position: number,
): Promise<boolean> {
  const { rows } = await sql`
    update segments set sizes = sizes || ${sizes}::integer[]
    where video_id = ${video_id} and rendition = ${rendition} and key = ${key} and cardinality(sizes) = ${position}
    returning key`.execute(trx)
  return rows.length > 0
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

// --- initialization segments

export function findInitialization(
  db: Db<Tables>,
  videoId: string,
  rendition: string,
): Promise<InitializationRow | undefined> {
  return db
    .selectFrom('initializations')
    .selectAll()
    .where('video_id', '=', videoId)
    .where('rendition', '=', rendition)
    .executeTakeFirst()
}

export async function insertInitialization(trx: Transaction<Tables>, row: InitializationRow): Promise<void> {
  await trx
    .insertInto('initializations')
    .values(row)
    .onConflict((c) => c.doNothing())
    .execute()
}

// --- files

/**
 * All media files that rows refer to. Undefined if the video has no encoding, or while a job may store files that no row
 * refers to yet.
 */
export async function listKnownFiles(
  db: Db<Tables>,
  videoId: string,
): Promise<{ segments: SegmentCounts; mp4Keys: string[] } | undefined> {
  const { rows } = await sql<{ segments: SegmentCounts; mp4Keys: string[]; isBusy: boolean }>`
    select
      coalesce((select jsonb_object_agg(key, cardinality(sizes)) from segments where video_id = ${videoId}), '{}')
        as segments,
      array(select key from renditions where video_id = ${videoId} and key is not null) as "mp4Keys",
      exists (select from chunks where video_id = ${videoId})
        or exists (select from renditions where video_id = ${videoId} and type = 'mp4' and state = 'encoding')
        as "isBusy"
    from encodings where video_id = ${videoId}`.execute(db)
  return rows[0] && !rows[0].isBusy ? rows[0] : undefined
}
