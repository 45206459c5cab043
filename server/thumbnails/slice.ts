import type { Slice } from '../slice.ts'
import { makeFirstThumbnail, makeThumbnails } from './make.ts'
import { thumbnailPlaybackRoutes } from './playback-routes.ts'
import { thumbnailsQueues } from './queues.ts'
import { thumbnailRoutes } from './routes.ts'

export const thumbnails: Slice = {
  queues: thumbnailsQueues,
  routes: thumbnailRoutes,
  publicRoutes: thumbnailPlaybackRoutes,
  jobs: { 'make-first-picture': makeFirstThumbnail, 'make-pictures': makeThumbnails },
}
