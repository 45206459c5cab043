import type { Slice } from '../slice.ts'
import { watermarkFolder } from './files.ts'
import { Watermark, WatermarkList, watermarkRoutes } from './routes.ts'

export const watermarks: Slice = {
  schemas: [Watermark, WatermarkList],
  routes: watermarkRoutes,
  jobs: {
    'remove-watermark': ({ files }, { watermarkId }) => files.remove(watermarkFolder(watermarkId)),
  },
}
