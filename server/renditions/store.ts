import { type Selectable, sql } from 'kysely'
import type { EncodingRow } from '../encoding/tables.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { InitializationRow, RenditionRow, SegmentsRow } from './tables.ts'

export type Encoding = Selectable<EncodingRow>

export function findEncoding(db: Db<Tables>, videoId: string): Promise<Encoding | undefined> {
  return db.selectFrom('encodings').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** The lowest quality first. */
export function listRenditions(db: Db<Tables>, videoId: string): Promise<RenditionRow[]> {
  return db.selectFrom('renditions').selectAll().where('video_id', '=', videoId).orderBy('height').execute()
}

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
