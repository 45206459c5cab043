import type { EncodingPlan, EncodingState } from '../encoding/tables.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Sprites } from '../media/sprites.ts'
import { segmentFile } from '../renditions/files.ts'
import type { RenditionState } from '../renditions/tables.ts'
import type { Tables } from '../tables.ts'
import type { Run } from './playlists.ts'

// One statement for each request, and undefined where there is no such video.

/** What decides who may play it. */
export type Playable = { public: boolean }

const findVideo = prepare<Playable>('find-playable', 'select public from videos where id = $1')

export async function findPlayable(db: Db<Tables>, videoId: string) {
  const [row] = await findVideo(db, [videoId])
  return row
}

/** When it was encoded, if it is. */
export type Standing = Playable & { finishedAt: string | null }

const findAllStandings = prepare<Standing & { id: string }>(
  'find-standings',
  `select v.id, v.public, case when e.state = 'encoded' then e.finished_at::text end as "finishedAt"
   from videos v left join encodings e on e.video_id = v.id where v.id = any($1)`,
)

/** In the order of the ids, of which many may be the same. */
export async function findStandings(db: Db<Tables>, ids: string[]): Promise<(Standing | undefined)[]> {
  const rows = await findAllStandings(db, [[...new Set(ids)]])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

/** The runs of files that have come without a gap: the first segment of each is the number of those before it. */
const gapless = (condition: string) => `
  select rendition, sum(segments)::int as segments, sum(bytes)::bigint as bytes, max(largest) as largest,
         max(sizes[1]) filter (where first_segment = 0) as first
  from (
    select rendition, first_segment, sizes, cardinality(sizes) as segments,
           (select sum(size) from unnest(sizes) size) as bytes,
           (select max(size) from unnest(sizes) size) as largest,
           coalesce(sum(cardinality(sizes)) over (
             partition by rendition order by first_segment rows between unbounded preceding and 1 preceding
           ), 0) as before
    from segments where ${condition}
  ) files
  where first_segment = before group by rendition`

export type PlaybackRow = Playable & {
  /** The content never came. */
  isSourceFailed: boolean
  state: EncodingState | null
  soundFailure: string | null
  plan: EncodingPlan | null
}

const playback = `
  v.public, coalesce(s.state = 'failed', false) as "isSourceFailed", e.state, e.sound_failure as "soundFailure",
  e.plan
`
const fromPlayback = `
  from videos v
  left join sources s on s.video_id = v.id
  left join encodings e on e.video_id = v.id
`

export type MasterRow = PlaybackRow & { failed: string[]; runs: Run[] }

const findAll = prepare<MasterRow>(
  'find-master',
  `select ${playback},
     array(select quality from renditions where video_id = $1 and type = 'hls' and state = 'failed') as failed,
     (select coalesce(jsonb_agg(jsonb_build_object(
        'rendition', rendition, 'codec', codec, 'segments', segments, 'bytes', runs.bytes,
        'firstBytes', first, 'largestBytes', largest)), '[]')
      from (${gapless('video_id = $1')}) runs join initializations i using (rendition)
      where i.video_id = $1) as runs
   ${fromPlayback} where v.id = $1`,
)

/** `failed` are qualities that will not be whole. */
export async function findMaster(db: Db<Tables>, videoId: string) {
  const [row] = await findAll(db, [videoId])
  return row
}

export type RenditionPlaybackRow = PlaybackRow & { renditionState: RenditionState | null; segments: number }

const findOne = prepare<RenditionPlaybackRow>(
  'find-rendition',
  `select ${playback}, r.state as "renditionState",
     coalesce((select segments from (${gapless('video_id = $1 and rendition = $2')}) run), 0) as segments
   ${fromPlayback}
   left join renditions r on r.video_id = v.id and r.type = 'hls' and r.quality = $2
   where v.id = $1`,
)

export async function findRendition(db: Db<Tables>, videoId: string, rendition: string) {
  const [row] = await findOne(db, [videoId, rendition])
  return row
}

export type SegmentPlace = { videoId: string; rendition: string; index: number }
export type StoredSegment = { key: string; size: number }

type SegmentRow = Playable & { key: string | null; position: number; size: number | null }

const findFile = prepare<SegmentRow>(
  'find-segment',
  `select v.public, f.key, f.position, f.size
   from videos v
   left join lateral (
     select key, $3 - first_segment as position, sizes[$3 - first_segment + 1] as size from segments
     where video_id = v.id and rendition = $2 and first_segment <= $3
     order by first_segment desc limit 1
   ) f on true
   where v.id = $1`,
)

/** The file of a segment, if it is there. */
export async function findSegment(
  db: Db<Tables>,
  { videoId, rendition, index }: SegmentPlace,
): Promise<(Playable & { segment: StoredSegment | undefined }) | undefined> {
  const [row] = await findFile(db, [videoId, rendition, index])
  if (!row) return undefined
  const { public: isPublic, key, position, size } = row
  const segment = key === null || size === null ? undefined : { key: segmentFile(key, position), size }
  return { public: isPublic, segment }
}

const findInit = prepare<Playable & { bytes: Buffer | null }>(
  'find-initialization',
  `select v.public, i.bytes from videos v
   left join initializations i on i.video_id = v.id and i.rendition = $2 where v.id = $1`,
)

export async function findInitialization(db: Db<Tables>, videoId: string, rendition: string) {
  const [row] = await findInit(db, [videoId, rendition])
  return row
}

const findMp4File = prepare<Playable & { title: string; key: string | null }>(
  'find-mp4',
  `select v.public, v.title, r.key from videos v
   left join renditions r on r.video_id = v.id and r.type = 'mp4' and r.state = 'encoded' and v.mp4_support
   where v.id = $1 order by r.height desc limit 1`,
)

export async function findMp4(db: Db<Tables>, videoId: string) {
  const [row] = await findMp4File(db, [videoId])
  return row
}

export type PicturesRow = Playable & {
  plan: EncodingPlan | null
  thumbnailKey: string | null
  sprites: Sprites | null
  spritesKey: string | null
}

const findPicturesOf = prepare<PicturesRow>(
  'find-pictures',
  `select v.public, e.plan, p.thumbnail_key as "thumbnailKey", p.sprites, p.sprites_key as "spritesKey"
   from videos v left join encodings e on e.video_id = v.id left join pictures p on p.video_id = v.id
   where v.id = $1`,
)

export async function findPictures(db: Db<Tables>, videoId: string) {
  const [row] = await findPicturesOf(db, [videoId])
  return row
}
