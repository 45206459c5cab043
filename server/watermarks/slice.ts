import type { Slice } from '../slice.ts'
import { watermarkFolder } from './files.ts'
import { watermarksQueues } from './queues.ts'
import { Watermark, WatermarkList, watermarkRoutes } from './routes.ts'

export const watermarks: Slice = {
  queues: watermarksQueues,
  schemas: [Watermark, WatermarkList],
  routes: watermarkRoutes,
  jobs: {
    'remove-watermark': ({ files }, { watermarkId }) => files.remove(watermarkFolder(watermarkId)),
  },
}
