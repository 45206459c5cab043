import type { Slice } from '../slice.ts'
import { liveStreamRoutes } from './routes.ts'
import { LiveStream, LiveStreamList } from './schemas.ts'

export const liveStreams: Slice = {
  schemas: [LiveStream, LiveStreamList],
  routes: liveStreamRoutes,
}
