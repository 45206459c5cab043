import type { Slice } from '../slice.ts'
import { makeThumbnails } from './make.ts'
import { thumbnailPlaybackRoutes } from './playback-routes.ts'
import { thumbnailRoutes } from './routes.ts'

export const thumbnails: Slice = {
  routes: thumbnailRoutes,
  publicRoutes: thumbnailPlaybackRoutes,
  jobs: { 'make-pictures': makeThumbnails },
}
