import type { Slice } from '../slice.ts'
import { captionRoutes } from './caption-routes.ts'
import { chapterRoutes } from './chapter-routes.ts'
import { trackPlaybackRoutes } from './playback-routes.ts'
import { Caption, CaptionList, Chapter, ChapterList } from './schemas.ts'

export const textTracks: Slice = {
  schemas: [Caption, CaptionList, Chapter, ChapterList],
  routes(app, context) {
    captionRoutes(app, context)
    chapterRoutes(app, context)
  },
  publicRoutes: trackPlaybackRoutes,
}
