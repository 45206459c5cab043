import type { Slice } from '../slice.ts'
import { broadcastRoutes } from './broadcast-routes.ts'
import { Broadcast, BroadcastList } from './broadcast-schemas.ts'
import { endAbandonedBroadcasts, endOverdueBroadcasts } from './end-broadcast.ts'
import { expireLive } from './expiry/expire.ts'
import { feedRoutes } from './feed/routes.ts'
import { livePageRoutes } from './playback/page.ts'
import { liveMediaRoutes } from './playback/routes.ts'
import { Views } from './playback/views.ts'
import { recordLongBroadcasts } from './recording/plan.ts'
import { recordBroadcast } from './recording/record.ts'

export const live: Slice = {
  schemas: [Broadcast, BroadcastList],
  routes: broadcastRoutes,
  async publicRoutes(app, context) {
    const views = new Views(context)
    app.addHook('preClose', async () => views.close())
    await liveMediaRoutes(app, context, views)
    await livePageRoutes(app, context, views)
  },
  processRoutes: feedRoutes,
  jobs: { 'record-broadcast': recordBroadcast },
  tasks: [
    // Processes with the role live do this as well, but there may be none left.
    { name: 'end overdue broadcasts', everyMs: 5_000, run: endOverdueBroadcasts },
    { name: 'end abandoned broadcasts', everyMs: 5_000, run: endAbandonedBroadcasts },
    { name: 'record long broadcasts', everyMs: 60_000, run: recordLongBroadcasts },
    { name: 'expire live segments', everyMs: 60_000, run: expireLive },
  ],
}
