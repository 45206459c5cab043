import type { Slice } from '../slice.ts'
import { actionRoutes } from './action-routes.ts'
import { liveStreamRoutes } from './routes.ts'
import { LiveStream, LiveStreamList } from './schemas.ts'

export const liveStreams: Slice = {
  schemas: [LiveStream, LiveStreamList],
  routes(app, context) {
    liveStreamRoutes(app, context)
    actionRoutes(app, context)
  },
}
