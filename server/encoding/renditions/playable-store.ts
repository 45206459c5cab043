import { type Db, prepare } from '../../lib/db.ts'
import type { Sprites } from '../../media/sprites.ts'
import type { Tables } from '../../tables.ts'
import { stateColumn, type VideoState } from '../../videos/state-store.ts'
import type { RenditionRow } from '../tables.ts'
import type { Encoding } from './encoding-store.ts'
import { audioRendition, type PlayableRow } from './playable.ts'

/**
 * Whether viewers may not see the video `v` with the encoding `e`, because its source has not arrived completely. Plans may
 * be large: they are read only while a video is encoded.
 */
export const isHidden = `
  case when e.state = 'encoding' and e.plan -> 'partial' is not null
       then not coalesce(v.playable_during_upload, (e.plan #>> '{partial,isPlayable}')::boolean)
       else false end`

/** For statements that select from `playableTables`. */
export const playableColumns = `
  ${isHidden} as "isHidden",
  coalesce(s.state = 'failed', false) as "isSourceFailed", e.state, e.plan, e.sound_failure as "audioFailure",
  coalesce((select jsonb_object_agg(quality, state) from renditions
            where video_id = v.id and type = 'hls'), '{}') as qualities,
  array(select rendition from segments where video_id = v.id and first_segment = 0) as begun,
  coalesce((select sum(cardinality(sizes))::int from segments
            where video_id = v.id and rendition = '${audioRendition}'), 0) as "audioSegments"`

export const playableTables = `
  videos v
  left join sources s on s.video_id = v.id
  left join encodings e on e.video_id = v.id`

export type EncodingProgress = PlayableRow &
  Pick<Encoding, 'failure' | 'media'> & {
    renditions: Pick<RenditionRow, 'type' | 'quality' | 'state' | 'failure'>[]
    /** How many segments of each rendition are stored. */
    segmentCounts: Record<string, number>
  }

const progressOf = prepare<EncodingProgress>(
  'find-encoding-progress',
  `select ${playableColumns}, e.failure, e.media,
     coalesce((
       select jsonb_agg(jsonb_build_object('type', type, 'quality', quality, 'state', state, 'failure', failure)
                        order by type, height)
       from renditions where video_id = v.id), '[]') as renditions,
     coalesce((
       select jsonb_object_agg(rendition, segments) from (
         select rendition, sum(cardinality(sizes)) as segments
         from segments where video_id = v.id group by rendition) counts), '{}') as "segmentCounts"
   from ${playableTables} where v.id = $1`,
)

/** Undefined when there is no such video. */
export async function findProgress(db: Db<Tables>, videoId: string): Promise<EncodingProgress | undefined> {
  const [row] = await progressOf(db, [videoId])
  return row
}

/** What a list shows of the encoding of a video. */
export type OverviewRow = PlayableRow &
  Pick<Encoding, 'failure' | 'media'> & {
    id: string
    videoState: VideoState
    sprites: Sprites | null
    thumbnailKey: string | null
  }

const overviewsOf = prepare<OverviewRow>(
  'list-video-overviews',
  `select v.id, ${playableColumns}, ${stateColumn}, e.media, p.sprites, p.thumbnail_key as "thumbnailKey",
     case when s.state = 'failed' then s.failure else e.failure end as failure
   from ${playableTables} left join pictures p on p.video_id = v.id where v.id = any ($1)`,
)

export const listOverviews = (db: Db<Tables>, videoIds: string[]): Promise<OverviewRow[]> =>
  overviewsOf(db, [videoIds])
