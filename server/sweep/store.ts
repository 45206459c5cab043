import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Sprites } from '../media/sprites.ts'
import type { Tables } from '../tables.ts'
import type { SourceState } from '../uploads/tables.ts'
import type { SegmentCounts } from '../videos/files.ts'

// --- state of the sweep

export async function readState(db: Db<Tables>, name: string): Promise<Record<string, string> | undefined> {
  const row = await db.selectFrom('sweep_state').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function writeState(db: Db<Tables>, name: string, state: Record<string, string>): Promise<void> {
  const value = JSON.stringify(state)
  await db
    .insertInto('sweep_state')
    .values({ name, value })
    .onConflict((c) => c.column('name').doUpdateSet({ value }))
    .execute()
}

// --- files that rows refer to

// Discarded videos keep their files.

export async function listVideoIds(db: Db<Tables>, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('all_videos')
    .select('id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function filterExisting(db: Db<Tables>, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('all_videos')
    .select('id')
    .where('id', '=', sql<string>`any(${ids})`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The files of a video according to its rows. */
export type KnownFiles = {
  sourceState: SourceState | null
  hasWatermark: boolean
  hasEncoding: boolean
  /** Whether the source still arrives. What has arrived may be copied at the moment. */
  isPartial: boolean
  /** The key of the file to decode: the source or a copy of it. */
  planKey: string | null
  /** Workers may store segments that no row refers to yet. */
  isEncoding: boolean
  segments: SegmentCounts
  mp4Keys: string[]
  thumbnailKey: string | null
  uploadingKey: string | null
  spritesKey: string | null
  sprites: Sprites | null
}

/** Undefined if the video does not exist. */
export async function findKnownFiles(db: Db<Tables>, videoId: string): Promise<KnownFiles | undefined> {
  const { rows } = await sql<KnownFiles>`
    select s.state as "sourceState",
      v.watermark is not null as "hasWatermark",
      e.video_id is not null as "hasEncoding",
      e.plan ->> 'key' as "planKey",
      e.plan -> 'partial' is not null as "isPartial",
      exists (select from chunks c where c.video_id = v.id) as "isEncoding",
      coalesce((select jsonb_object_agg(key, cardinality(sizes)) from segments g where g.video_id = v.id), '{}')
        as segments,
      array(select key from renditions r where r.video_id = v.id and key is not null) as "mp4Keys",
      p.thumbnail_key as "thumbnailKey", p.uploading_key as "uploadingKey",
      p.sprites_key as "spritesKey", p.sprites
    from all_videos v
    left join sources s on s.video_id = v.id
    left join encodings e on e.video_id = v.id
    left join pictures p on p.video_id = v.id
    where v.id = ${videoId}`.execute(db)
  return rows[0]
}

/** The states of the sources that these uploads belong to. */
export async function findSourceStates(db: Db<Tables>, handles: string[]): Promise<Map<string, SourceState>> {
  const rows = await db
    .selectFrom('sources')
    .select(['handle', 'state'])
    .where('handle', '=', sql<string>`any(${handles})`)
    .execute()
  return new Map(rows.map(({ handle, state }) => [handle, state]))
}
