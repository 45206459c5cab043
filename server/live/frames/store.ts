import { sql } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import type { LiveFrameRow, LiveSegmentRow } from '../tables.ts'

export type StoredFrame = Pick<LiveFrameRow, 'data' | 'sequence'> & { ageMs: number }

/** Undefined if no frame of this broadcast was made. */
export async function findFrame(db: Db<Tables>, broadcastId: string): Promise<StoredFrame | undefined> {
  const { rows } = await sql<StoredFrame>`
    select f.data, f.sequence, (1000 * extract(epoch from now() - f.made_at))::float8 as "ageMs"
    from broadcasts b
    join live_frames f on f.live_stream_id = b.live_stream_id and f.broadcast_id = b.id
    where b.id = ${broadcastId}`.execute(db)
  return rows[0]
}

/** Replaces that of an earlier broadcast. Nothing happens if the live stream was deleted. */
export async function saveFrame(
  db: Db<Tables>,
  { broadcast_id, sequence }: Pick<LiveSegmentRow, 'broadcast_id' | 'sequence'>,
  data: Buffer,
): Promise<void> {
  await sql`
    insert into live_frames (live_stream_id, broadcast_id, sequence, data, made_at)
    select s.id, b.id, ${sequence}, ${data}, now()
    from broadcasts b join live_streams s on s.id = b.live_stream_id
    where b.id = ${broadcast_id} for key share of s
    on conflict (live_stream_id) do update
      set broadcast_id = excluded.broadcast_id, sequence = excluded.sequence, data = excluded.data,
        made_at = excluded.made_at`.execute(db)
}

/** A segment with what is needed to decode its first frame. */
export type PictureSegment = Pick<LiveSegmentRow, 'broadcast_id' | 'quality' | 'sequence' | 'fence'> & {
  init: Buffer
  width: number
  height: number
}

/** The newest segment of each quality that viewers can watch. */
export async function listNewestSegments(db: Db<Tables>, broadcastId: string): Promise<PictureSegment[]> {
  const { rows } = await sql<PictureSegment>`
    select b.id as broadcast_id, s.quality, s.sequence, s.fence, i.data as init, i.width, i.height
    from broadcasts b
    cross join jsonb_array_elements_text(b.qualities) as visible (quality)
    cross join lateral (
      select quality, sequence, epoch, fence from live_segments
      where broadcast_id = b.id and quality = visible.quality
      order by sequence desc limit 1
    ) s
    join live_inits i on i.broadcast_id = b.id and i.quality = s.quality and i.epoch = s.epoch
    where b.id = ${broadcastId} and i.width is not null and i.height is not null`.execute(db)
  return rows
}
