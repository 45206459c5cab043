import type { Context } from '../context.ts'
import { findOverviews } from '../encoding/renditions/playable-store.ts'
import { oneOf } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { Video } from './schemas.ts'
import type { StoredVideo } from './store.ts'
import { viewVideo } from './view.ts'
import { viewOverview } from './view-status.ts'

const parts = ['status', 'preview'] as const

export const includeQuery = {
  include: Type.Optional(
    Type.Array(oneOf(parts), {
      maxItems: parts.length,
      description:
        'What to add to each video, as `include[]`. `status`: the attribute `status`. `preview`: `assets.preview`, once it exists.',
      examples: [['status']],
    }),
  ),
}

/** One query adds the parts to all videos of a page. */
export async function viewVideos(
  context: Context,
  rows: StoredVideo[],
  include: (typeof parts)[number][] = [],
): Promise<Video[]> {
  if (include.length === 0) return rows.map((row) => viewVideo(context, row))
  const overviews = await findOverviews(
    context.db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => {
    const overview = overviews.get(row.id)
    const video = viewVideo(
      context,
      row,
      include.includes('preview') && overview ? { preview: overview } : {},
    )
    return include.includes('status') && overview ? { ...video, status: viewOverview(overview) } : video
  })
}
