import { type Db, prepare } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import { stateColumn, type VideoState } from '../../videos/state-store.ts'
import type { VideoStatus } from '../../videos/status-schemas.ts'
import type { StoredVideo } from '../../videos/store.ts'
import type { SourceRow } from '../tables.ts'

/** How much of the content has arrived. Null until something has been received, which clients wait for. */
export async function findIngestStatus(db: Db<Tables>, video: StoredVideo): Promise<VideoStatus['ingest']> {
  const [source] = await findReceived(db, [video.id])
  return source?.videoState === 'missing' ? null : viewIngest(video, source)
}

type ReceivedSource = Pick<
  SourceRow,
  'form' | 'total' | 'size' | 'state' | 'failure' | 'arriving_from' | 'arriving_bytes'
> & {
  droppedAt: Date | null
  videoState: VideoState
  /** The numbers of the received parts. */
  parts: number[]
  /** The received byte ranges. */
  ranges: { position: number; size: number }[]
}

/**
 * The parts of a video's content that have arrived. A tus upload may consist of any number of tiny parts; without gaps
 * they are one range. The parts of a complete upload are known without reading them.
 */
const findReceived = prepare<ReceivedSource>(
  'find-received-source',
  `select form, total, size, state, failure, arriving_from, arriving_bytes, case when state = 'dropped' then s.updated_at end as "droppedAt",
     ${stateColumn},
     case when form <> 'parts' then '{}'
          when state <> 'receiving' then array(select generate_series(1, received_pieces))
          else array(select position::integer from source_pieces p
                     where p.video_id = s.video_id and place is not null order by position)
     end as parts,
     case when form not in ('bytes', 'url') then '[]'
          when tus_metadata is not null and received_bytes = (
            select position + p.size from source_pieces p
            where p.video_id = s.video_id and place is not null order by position desc limit 1)
          then jsonb_build_array(jsonb_build_object('position', 0, 'size', received_bytes))
          else coalesce((
            select jsonb_agg(jsonb_build_object('position', position, 'size', p.size) order by position)
            from source_pieces p where p.video_id = s.video_id and place is not null), '[]')
     end as ranges
   from sources s join videos v on v.id = s.video_id where s.video_id = $1`,
)

function viewIngest({ source_type }: StoredVideo, source: ReceivedSource | undefined): VideoStatus['ingest'] {
  const isUpload = source_type === 'upload'
  if (isUpload && !source) return null
  const isDone = isUpload
    ? source?.state !== 'receiving'
    : source?.state === 'stored' || source?.state === 'dropped'
  const status = isUpload ? (isDone ? 'uploaded' : 'uploading') : isDone ? 'ingested' : 'ingesting'
  const isFetchFailed = !isUpload && source?.state === 'failed'
  const total = source?.total ?? null
  const arriving = source && arrivingOf(source)
  const isByBytes = source?.form === 'bytes' || source?.form === 'url'
  return {
    ...(source?.failure != null && { failure: source.failure }),
    // None of the published values says that a fetch has failed.
    ...(!isFetchFailed && { status }),
    ...(source?.droppedAt && { sourceDroppedAt: source.droppedAt.toISOString() }),
    filesize: source?.size ?? (isByBytes ? total : null),
    receivedBytes:
      source?.ranges.map(({ position, size }) => ({ from: position, to: position + size - 1, total })) ?? [],
    ...(arriving && { arrivingBytes: { ...arriving, total } }),
    receivedParts: {
      parts: source?.parts ?? [],
      total: source?.form === 'parts' ? total : null,
    },
  }
}

/** Not among the received ranges: a client that continues its upload must send this chunk again. */
function arrivingOf({ form, arriving_from: from, arriving_bytes: bytes }: ReceivedSource) {
  return form === 'parts' || from === null || bytes === null ? undefined : { from, to: from + bytes - 1 }
}
