import { oneOf } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { VideosContext } from './parts.ts'
import type { Video } from './schemas.ts'
import type { StoredVideo } from './store.ts'
import { viewVideo } from './view.ts'

const includable = ['status', 'preview'] as const

export const includeQuery = {
  include: Type.Optional(
    Type.Array(oneOf(includable), {
      maxItems: includable.length,
      description:
        'What to add to each video, as `include[]`. `status`: the attribute `status`. `preview`: `assets.preview`, once it exists.',
      examples: [['status']],
    }),
  ),
}

/** One query adds the parts to all videos of a page. */
export async function viewVideos(
  context: VideosContext,
  rows: StoredVideo[],
  include: (typeof includable)[number][] = [],
): Promise<Video[]> {
  if (include.length === 0) return rows.map((row) => viewVideo(context, row))
  const overviews = await context.parts.findOverviews(
    context.db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => {
    const overview = overviews.get(row.id)
    const preview = include.includes('preview') ? overview : undefined
    const video = viewVideo(context, row, { preview })
    return include.includes('status') && overview ? { ...video, status: overview.status } : video
  })
}
