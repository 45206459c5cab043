import type { Slice } from '../slice.ts'
import { broadcastRoutes } from './broadcast-routes.ts'
import { Broadcast, BroadcastList } from './broadcast-schemas.ts'
import { livePageRoutes } from './playback/page.ts'
import { liveMediaRoutes } from './playback/routes.ts'
import { Views } from './playback/views.ts'

export const live: Slice = {
  schemas: [Broadcast, BroadcastList],
  routes: broadcastRoutes,
  async publicRoutes(app, context) {
    const views = new Views(context)
    await liveMediaRoutes(app, context, views)
    await livePageRoutes(app, context, views)
  },
}
