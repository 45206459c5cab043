import { type Selectable, sql, type Transaction } from 'kysely'
import type { EncodingPlan } from '../encoding/tables.ts'
import { type Db, listPage, prepare } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Asset } from '../playback/store.ts'
import type { Tables } from '../tables.ts'
import type { TextTrackRow, TrackKind, TrackOrigin } from './tables.ts'

/** All but the content. */
const columns = [
  'id',
  'video_id',
  'kind',
  'language',
  'is_default',
  'origin',
  'version',
] as const satisfies (keyof TextTrackRow)[]

export type StoredTrack = Pick<Selectable<TextTrackRow>, (typeof columns)[number]>

/** A video has at most one track of a kind in a language. */
export type TrackKey = { videoId: string; kind: TrackKind; language: string }

export type NewTrack = TrackKey & {
  id: string
  content: string
  origin: TrackOrigin
  /** Absent: as before, or false for a new track. */
  isDefault?: boolean | undefined
}

/** Serializes changes of a video's tracks. False when there is no such video. */
export async function lockVideo(trx: Transaction<Tables>, videoId: string): Promise<boolean> {
  const { rows } = await sql`select from videos where id = ${videoId} for no key update`.execute(trx)
  return rows.length > 0
}

export async function countOtherTracks(
  trx: Transaction<Tables>,
  { videoId, kind, language }: TrackKey,
): Promise<number> {
  const { count } = await trx
    .selectFrom('text_tracks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('video_id', '=', videoId)
    .where('kind', '=', kind)
    .where('language', '<>', language)
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts the track, or replaces the content of the existing one. */
export async function upsertTrack(trx: Transaction<Tables>, track: NewTrack): Promise<StoredTrack> {
  const { videoId, isDefault, ...row } = track
  if (isDefault) await clearDefault(trx, track)
  return trx
    .insertInto('text_tracks')
    .values({ ...row, video_id: videoId, is_default: isDefault ?? false })
    .onConflict((conflict) =>
      conflict.columns(['video_id', 'kind', 'language']).doUpdateSet({
        content: row.content,
        origin: row.origin,
        ...(isDefault !== undefined && { is_default: isDefault }),
        ...changed,
      }),
    )
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Undefined when there is no such track. */
export async function setDefault(
  trx: Transaction<Tables>,
  key: TrackKey,
  isDefault: boolean,
): Promise<StoredTrack | undefined> {
  if (isDefault) await clearDefault(trx, key)
  return trx
    .updateTable('text_tracks')
    .set({ is_default: isDefault, ...changed })
    .where('video_id', '=', key.videoId)
    .where('kind', '=', key.kind)
    .where('language', '=', key.language)
    .returning(columns)
    .executeTakeFirst()
}

const changed = { version: sql<string>`gen_random_uuid()`, updated_at: sql<Date>`now()` }

/** The default of the other languages of the video. */
async function clearDefault(trx: Transaction<Tables>, { videoId, language }: TrackKey): Promise<void> {
  await trx
    .updateTable('text_tracks')
    .set({ is_default: false, ...changed })
    .where('video_id', '=', videoId)
    .where('language', '<>', language)
    .where('is_default', '=', true)
    .execute()
}

export function findTrack(
  db: Db<Tables>,
  { videoId, kind, language }: TrackKey,
): Promise<StoredTrack | undefined> {
  return db
    .selectFrom('text_tracks')
    .select(columns)
    .where('video_id', '=', videoId)
    .where('kind', '=', kind)
    .where('language', '=', language)
    .executeTakeFirst()
}

/** By language. */
export async function listTracks(
  db: Db<Tables>,
  { videoId, kind }: Pick<TrackKey, 'videoId' | 'kind'>,
  page: Page,
): Promise<{ tracks: StoredTrack[]; total: number }> {
  const all = db.selectFrom('text_tracks').where('video_id', '=', videoId).where('kind', '=', kind)
  const { rows: tracks, total } = await listPage(
    db,
    all,
    (q) => q.select(columns).orderBy('language', 'asc'),
    page,
  )
  return { tracks, total }
}

export async function deleteTrack(db: Db<Tables>, { videoId, kind, language }: TrackKey): Promise<boolean> {
  const deleted = await db
    .deleteFrom('text_tracks')
    .where('video_id', '=', videoId)
    .where('kind', '=', kind)
    .where('language', '=', language)
    .returning('language')
    .executeTakeFirst()
  return deleted !== undefined
}

const findContentRow = prepare<{ content: string }>(
  'find-track-content',
  'select content from text_tracks where video_id = $1 and kind = $2 and language = $3',
)

export async function findContent(
  db: Db<Tables>,
  { videoId, kind, language }: TrackKey,
): Promise<string | undefined> {
  const [row] = await findContentRow(db, [videoId, kind, language])
  return row?.content
}

/** What the subtitle playlist and its segments depend on, besides the content. */
export type CaptionAsset = Asset & { plan: EncodingPlan | null; version: string | null }

const findCaptionRow = prepare<CaptionAsset>(
  'find-caption',
  `select v.public, v.environment, case when e.plan -> 'partial' is null then e.plan end as plan, t.version from videos v
   left join encodings e on e.video_id = v.id
   left join text_tracks t on t.video_id = v.id and t.kind = 'captions' and t.language = $2
   where v.id = $1`,
)

/** Undefined when there is no such video. */
export async function findCaptionAsset(
  db: Db<Tables>,
  videoId: string,
  language: string,
): Promise<CaptionAsset | undefined> {
  const [row] = await findCaptionRow(db, [videoId, language])
  return row
}
