import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'

/**
 * The conditions under which nothing needs the file of the source `s` with the encoding `e`. Thumbnails, transcripts and
 * the MP4 are made from segments. What has failed may be retried, and a video that waits to be copied needs the file.
 */
const isUnneeded = (encodedBefore: Date): RawBuilder<boolean> => sql`
  s.state = 'stored' and e.state = 'encoded' and e.finished_at <= ${encodedBefore}
  and e.failure is null and e.sound_failure is null
  and not exists (select from chunks c where c.video_id = s.video_id)
  and not exists (select from renditions r where r.video_id = s.video_id and r.state <> 'encoded')
  and not exists (
    select from all_videos v join sources waiting on waiting.video_id = v.id
    where v.source_type = 'clone' and v.source_reference = s.video_id and waiting.state = 'receiving')`

/** In the order of their ids. */
export async function listDroppable(
  db: Db<Tables>,
  encodedBefore: Date,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ videoId: string }>`
    select s.video_id as "videoId" from sources s join encodings e using (video_id)
    where s.video_id > ${after} and ${isUnneeded(encodedBefore)}
    order by s.video_id limit ${limit}`.execute(db)
  return rows.map(({ videoId }) => videoId)
}

export async function isDroppable(db: Db<Tables>, videoId: string, encodedBefore: Date): Promise<boolean> {
  const { rows } = await sql`
    select from sources s join encodings e using (video_id)
    where s.video_id = ${videoId} and ${isUnneeded(encodedBefore)}`.execute(db)
  return rows.length > 0
}
