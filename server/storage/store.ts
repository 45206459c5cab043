import { sql } from 'kysely'
import { audioRendition } from '../encoding/renditions/playable.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

/**
 * What takes up space. Each file belongs to one kind: `discarded` has everything of videos that can be restored.
 * `recordings` are the sources that broadcasts became, `live` are segments of broadcasts. Captions are in the database.
 */
export const storedKinds = [
  'sources',
  'recordings',
  'hls',
  'mp4',
  'thumbnails',
  'captions',
  'live',
  'uploads',
  'discarded',
] as const
export type StoredKind = (typeof storedKinds)[number]

export type Stored = {
  environment: Environment
  kind: StoredKind
  /** Of HLS, such as `720p`, or `audio`. Null for other kinds. */
  quality: string | null
  files: number
  bytes: number
}

/**
 * Everything that belongs to a video: rows of video, kind, quality, files and bytes. An earlier version did not store the
 * sizes of MP4 files and thumbnails, which count as 0.
 */
const videoFiles = sql`
  select video_id, case form when 'recording' then 'recordings' else 'sources' end as kind, null as quality,
    1 as files, coalesce(size, 0) as bytes
  from sources where state = 'stored'
  union all
  select video_id, 'uploads', null, 1, received_bytes from sources where state in ('receiving', 'received')
  union all
  select video_id, 'hls', case rendition when ${audioRendition} then 'audio' else rendition end,
    cardinality(sizes), (select sum(size) from unnest(sizes) size)
  from segments
  union all
  select video_id, 'mp4', null, 1, coalesce(bytes, 0) from renditions where type = 'mp4' and key is not null
  union all
  select video_id, 'thumbnails', null, 1, coalesce(thumbnail_bytes, 0)
  from pictures where thumbnail_key is not null
  union all
  select video_id, 'thumbnails', null,
    ceil((sprites->>'tiles')::float8 / ((sprites->>'columns')::int * (sprites->>'rows')::int))::int,
    coalesce(sprites_bytes, 0)
  from pictures where sprites_key is not null and sprites is not null
  union all
  select video_id, 'captions', null, 1, octet_length(content) from text_tracks`

/** How much each kind of file takes in each environment, according to the database. Reads all rows of segments. */
export async function findStored(db: Db<Tables>): Promise<Stored[]> {
  const { rows } = await sql<Stored>`
    with found as (
      select v.environment, case when v.discarded_at is null then f.kind else 'discarded' end as kind,
        case when v.discarded_at is null then f.quality end as quality, f.files, f.bytes
      from (${videoFiles}) f join all_videos v on v.id = f.video_id
      union all
      select b.environment, 'live', null, 1, s.bytes from live_segments s join broadcasts b on b.id = s.broadcast_id
    )
    select environment, kind, quality, sum(files)::bigint as files, sum(bytes)::bigint as bytes
    from found group by environment, kind, quality
    order by environment, array_position(${storedKinds as readonly string[]}::text[], kind),
      coalesce(substring(quality from '^\\d+')::int, 0)`.execute(db)
  return rows
}

export type LargeVideo = {
  videoId: string
  environment: Environment
  title: string
  isDiscarded: boolean
  /** By kind. */
  kinds: Partial<Record<StoredKind, number>>
  bytes: number
}

/** The videos that take the most space, largest first. */
export async function findLargestVideos(db: Db<Tables>, limit: number): Promise<LargeVideo[]> {
  const { rows } = await sql<LargeVideo>`
    with kind as (
      select video_id, kind, sum(bytes)::bigint as bytes from (${videoFiles}) f group by video_id, kind
    ), largest as (
      select video_id, sum(bytes)::bigint as bytes, jsonb_object_agg(kind, bytes) as kinds
      from kind group by video_id order by 2 desc, 1 limit ${limit}
    )
    select v.id as "videoId", v.environment, v.title, v.discarded_at is not null as "isDiscarded", l.kinds, l.bytes
    from largest l join all_videos v on v.id = l.video_id order by l.bytes desc, v.id`.execute(db)
  return rows
}
