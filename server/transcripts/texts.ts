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
      exists (select from summaries where video_id = videos.id and state = 'completed') as summary
    from unnest(${videoIds}::text[]) as videos (id)`.execute(db)
  return new Map(rows.map(({ id, ...texts }) => [id, texts]))
}
