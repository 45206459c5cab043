import type { Slice } from '../slice.ts'
import { makePictures } from './make.ts'
import { pictureRoutes } from './playback-routes.ts'
import { thumbnailRoutes } from './routes.ts'

export const thumbnails: Slice = {
  routes: thumbnailRoutes,
  publicRoutes: pictureRoutes,
  jobs: { 'make-pictures': makePictures },
}
