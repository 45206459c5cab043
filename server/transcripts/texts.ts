import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { VideoTexts } from '../videos/schemas.ts'

/** Which texts each of these videos has. */
export async function findTexts(db: Db<Tables>, videoIds: string[]): Promise<Map<string, VideoTexts>> {
  const { rows } = await sql<VideoTexts & { id: string }>`
    select videos.id,
      array(select language from text_tracks where video_id = videos.id and kind = 'captions' order by language) as captions,
      array(select language from text_tracks where video_id = videos.id and kind = 'chapters' order by language) as chapters,
      exists (select from summaries where video_id = videos.id and state = 'completed') as summary,
      left(md5(concat_ws(' ',
        (select string_agg(version::text, ' ' order by kind, language) from text_tracks where video_id = videos.id),
        (select string_agg(updated_at::text, ' ' order by id) from summaries
          where video_id = videos.id and state = 'completed'))), 16) as version
    from unnest(${videoIds}::text[]) as videos (id)`.execute(db)
  return new Map(rows.map(({ id, ...texts }) => [id, texts]))
}
