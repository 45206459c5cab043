import { sql } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'

/** `finishedAt` is text, because a Date has only milliseconds. */
export type Candidate = { videoId: string; finishedAt: string }

/**
 * Videos that have a source and are completely encoded, in the order in which that finished. Their other conditions are
 * not examined here: with a million videos, this statement takes milliseconds for an hour of encodings.
 */
export async function listCandidates(
  db: Db<Tables>,
  { after, encodedBefore, limit }: { after: Candidate; encodedBefore: Date; limit: number },
): Promise<Candidate[]> {
  const { rows } = await sql<Candidate>`
    select e.video_id as "videoId", e.finished_at::text as "finishedAt"
    from encodings e join sources s using (video_id)
    where e.state = 'encoded' and e.failure is null and e.sound_failure is null and s.state = 'stored'
      and (e.finished_at, e.video_id) > (${after.finishedAt}::timestamptz, ${after.videoId})
      and e.finished_at <= ${encodedBefore}
    order by e.finished_at, e.video_id limit ${limit}`.execute(db)
  return rows
}

/**
 * Whether nothing needs the file of the source. Thumbnails, transcripts and the MP4 are made from segments. What has failed
 * may be retried. A video that waits to be copied needs the file; it has no source until its job begins.
 */
export async function isDroppable(db: Db<Tables>, videoId: string, encodedBefore: Date): Promise<boolean> {
  const { rows } = await sql`
    select from sources s join encodings e using (video_id)
    where s.video_id = ${videoId} and s.state = 'stored'
      and e.state = 'encoded' and e.finished_at <= ${encodedBefore}
      and e.failure is null and e.sound_failure is null
      and not exists (select from chunks c where c.video_id = s.video_id)
      and not exists (select from renditions r where r.video_id = s.video_id and r.state <> 'encoded')
      and not exists (
        select from all_videos v left join sources waiting on waiting.video_id = v.id
        where v.source_type = 'clone' and v.source_reference = s.video_id
          and coalesce(waiting.state, 'receiving') = 'receiving')`.execute(db)
  return rows.length > 0
}
