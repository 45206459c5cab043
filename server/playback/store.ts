import type { PlayableRow } from '../encoding/renditions/playable.ts'
import { isHidden, playableColumns, playableTables } from '../encoding/renditions/playable-store.ts'
import type { EncodingPlan, EncodingState, RenditionState } from '../encoding/tables.ts'
import type { Environment } from '../environments.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { segmentFile } from '../videos/files.ts'
import type { Run } from './playlists.ts'

/** Notified by triggers, with the id of a video that is not public any more, is deleted, or is encoded again. */
export const visibilityChannel = 'kinora_visibility'

/** Decides who may see a video. */
export type Asset = { public: boolean; environment: Environment }

const findOne = prepare<Asset>('find-asset', 'select public, environment from videos where id = $1')

export async function findAsset(db: Db<Tables>, videoId: string): Promise<Asset | undefined> {
  const [row] = await findOne(db, [videoId])
  return row
}

export type VideoState = Asset & {
  id: string
  /** Null unless the video is encoded. */
  finishedAt: string | null
  /** Its source has not arrived completely, and nobody may see it before. */
  isHidden: boolean
}

const stateColumns = `v.id, v.public, v.environment, ${isHidden} as "isHidden",
     case when e.state = 'encoded' then e.finished_at::text end as "finishedAt"`
const stateTables = 'videos v left join encodings e on e.video_id = v.id where v.id = any($1)'

const findStates = prepare<VideoState>('find-video-states', `select ${stateColumns} from ${stateTables}`)

export const findVideoStates = (db: Db<Tables>, ids: string[]) => findAll(findStates, db, ids)

/** In the order of the ids, which may repeat. */
async function findAll<Row extends { id: string }>(
  find: (db: Db<Tables>, values: unknown[]) => Promise<Row[]>,
  db: Db<Tables>,
  ids: string[],
): Promise<(Row | undefined)[]> {
  const rows = await find(db, [[...new Set(ids)]])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

/** Captions in one language. The version changes with them. */
type CaptionState = { language: string; isDefault: boolean; version: string }

/** What the master playlist depends on. */
export type MasterState = VideoState & { language: string | null; captions: CaptionState[] }

const findMasterRows = prepare<MasterState>(
  'find-master-states',
  `select ${stateColumns}, v.language,
     coalesce((
       select jsonb_agg(jsonb_build_object('language', language, 'isDefault', is_default, 'version', version)
                        order by language)
       from text_tracks where video_id = v.id and kind = 'captions'), '[]') as captions
   from ${stateTables}`,
)

export const findMasterStates = (db: Db<Tables>, ids: string[]) => findAll(findMasterRows, db, ids)

/** Segments without a gap from the first one on: each row starts where the rows before it end. */
export const gapless = (condition: string) => `
  select rendition, sum(segments)::int as segments, sum(bytes)::bigint as bytes,
         jsonb_agg(sizes order by first_segment) as sizes
  from (
    select rendition, first_segment, sizes, cardinality(sizes) as segments,
           (select sum(size) from unnest(sizes) size) as bytes,
           coalesce(sum(cardinality(sizes)) over (
             partition by rendition order by first_segment rows between unbounded preceding and 1 preceding
           ), 0) as before
    from segments where ${condition}
  ) files
  where first_segment = before group by rendition`

export type MasterRow = PlayableRow & {
  runs: Run[]
  /** Since the encoding began. */
  elapsedSeconds: number | null
}

/** Each row of segments has its own list of sizes. */
type StoredRun = Omit<Run, 'sizes'> & { sizes: number[][] }

const findMasterRow = prepare<Omit<MasterRow, 'runs'> & { runs: StoredRun[] }>(
  'find-master',
  `select ${playableColumns}, extract(epoch from now() - e.created_at)::float8 as "elapsedSeconds",
     (select coalesce(jsonb_agg(jsonb_build_object(
        'rendition', rendition, 'codec', codec, 'segments', segments, 'bytes', runs.bytes,
        'sizes', runs.sizes)), '[]')
      from (${gapless('video_id = $1')}) runs join initializations i using (rendition)
      where i.video_id = $1) as runs
   from ${playableTables} where v.id = $1`,
)

export async function findMaster(db: Db<Tables>, videoId: string): Promise<MasterRow | undefined> {
  const [row] = await findMasterRow(db, [videoId])
  return row && { ...row, runs: row.runs.map((run) => ({ ...run, sizes: run.sizes.flat() })) }
}

export type RenditionPlaybackRow = {
  state: EncodingState | null
  plan: EncodingPlan | null
  audioFailure: string | null
  renditionState: RenditionState | null
  segments: number
}

const findRenditionRow = prepare<RenditionPlaybackRow>(
  'find-rendition',
  `select e.state, e.plan, e.sound_failure as "audioFailure", r.state as "renditionState",
     coalesce((select segments from (${gapless('video_id = $1 and rendition = $2')}) run), 0) as segments
   from videos v
   left join encodings e on e.video_id = v.id
   left join renditions r on r.video_id = v.id and r.type = 'hls' and r.quality = $2
   where v.id = $1`,
)

export async function findRendition(
  db: Db<Tables>,
  videoId: string,
  rendition: string,
): Promise<RenditionPlaybackRow | undefined> {
  const [row] = await findRenditionRow(db, [videoId, rendition])
  return row
}

export type SegmentPlace = { videoId: string; rendition: string; index: number }
export type StoredSegment = { key: string; size: number }

const findSegmentRow = prepare<{ key: string; position: number; size: number | null }>(
  'find-segment',
  `select key, $3 - first_segment as position, sizes[$3 - first_segment + 1] as size from segments
   where video_id = $1 and rendition = $2 and first_segment <= $3
   order by first_segment desc limit 1`,
)

export async function findSegment(
  db: Db<Tables>,
  { videoId, rendition, index }: SegmentPlace,
): Promise<StoredSegment | undefined> {
  const [row] = await findSegmentRow(db, [videoId, rendition, index])
  if (!row || row.size === null) return undefined
  return { key: segmentFile(row.key, row.position), size: row.size }
}

const findInitializationRow = prepare<{ bytes: Buffer }>(
  'find-initialization',
  'select bytes from initializations where video_id = $1 and rendition = $2',
)

export async function findInitialization(
  db: Db<Tables>,
  videoId: string,
  rendition: string,
): Promise<Buffer | undefined> {
  const [row] = await findInitializationRow(db, [videoId, rendition])
  return row?.bytes
}

export type Mp4Asset = Asset & { title: string; key: string | null }

const findMp4Row = prepare<Mp4Asset>(
  'find-mp4',
  `select v.public, v.environment, v.title, r.key from videos v
   left join renditions r on r.video_id = v.id and r.type = 'mp4' and r.state = 'encoded' and v.mp4_support
   where v.id = $1 order by r.height desc limit 1`,
)

export async function findMp4(db: Db<Tables>, videoId: string): Promise<Mp4Asset | undefined> {
  const [row] = await findMp4Row(db, [videoId])
  return row
}
