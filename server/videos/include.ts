import { oneOf } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { VideosContext } from './parts.ts'
import type { Video } from './schemas.ts'
import type { StoredVideo } from './store.ts'
import { viewVideo } from './view.ts'

const includable = ['status', 'preview', 'texts'] as const

export const includeQuery = {
  include: Type.Optional(
    Type.Array(oneOf(includable), {
      maxItems: includable.length,
      description:
        'What to add to each video, as `include[]`. `status`: the attribute `status`. `preview`: `assets.preview`, once it exists. `texts`: the attribute `texts`.',
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
  const ids = rows.map(({ id }) => id)
  const needsOverviews = include.includes('status') || include.includes('preview')
  const [overviews, texts] = await Promise.all([
    needsOverviews ? context.parts.findOverviews(context.db, ids) : undefined,
    include.includes('texts') ? context.parts.findTexts(context.db, ids) : undefined,
  ])
  return rows.map((row) => {
    const overview = overviews?.get(row.id)
    const found = texts?.get(row.id)
    const preview = include.includes('preview') ? overview : undefined
    const status = include.includes('status') ? overview?.status : undefined
    return {
      ...viewVideo(context, row, { preview }),
      ...(status && { status }),
      ...(found && { texts: found }),
    }
  })
}
