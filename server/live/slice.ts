import type { Slice } from '../slice.ts'
import { broadcastRoutes } from './broadcast-routes.ts'
import { Broadcast, BroadcastList } from './broadcast-schemas.ts'
import { expireLive } from './expiry/expire.ts'
import { livePlaybackRoutes } from './playback/routes.ts'
import { recordLongBroadcasts } from './recording/plan.ts'
import { recordBroadcast } from './recording/record.ts'

export const live: Slice = {
  schemas: [Broadcast, BroadcastList],
  routes: broadcastRoutes,
  publicRoutes: livePlaybackRoutes,
  jobs: { 'record-broadcast': recordBroadcast },
  tasks: [
    { name: 'record long broadcasts', everyMs: 60_000, run: recordLongBroadcasts },
    { name: 'expire live segments', everyMs: 60_000, run: expireLive },
  ],
}
