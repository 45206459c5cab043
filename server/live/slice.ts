import type { Slice } from '../slice.ts'
import { broadcastRoutes } from './broadcast-routes.ts'
import { Broadcast, BroadcastList } from './broadcast-schemas.ts'
import { livePlaybackRoutes } from './playback/routes.ts'

export const live: Slice = {
  schemas: [Broadcast, BroadcastList],
  routes: broadcastRoutes,
  publicRoutes: livePlaybackRoutes,
}
