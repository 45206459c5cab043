import { createWakeSignal } from '../lib/wake-signal.ts'
import { liveChannel } from '../live-streams/store.ts'
import type { Slice } from '../slice.ts'
import { liveMediaRoutes } from './hls/routes.ts'
import { type RunningIngest, startIngest } from './ingest/start-ingest.ts'
import { whipErrors } from './ingest/whip/errors.ts'
import { WhipGateway } from './ingest/whip/gateway.ts'
import { whipInternalRoutes } from './ingest/whip/internal-routes.ts'
import { deleteGoneReceivers } from './ingest/whip/receiver-store.ts'
import { whipApiRoutes, whipRoutes } from './ingest/whip/routes.ts'
import { droppedFrames, encoderBytes, encoderConnections, lostSeconds, recordings } from './metrics.ts'
import { endAbandonedBroadcasts, endOverdueBroadcasts } from './output/end-broadcast.ts'
import { recordLongBroadcasts } from './output/recording/plan.ts'
import { recordBroadcast } from './output/recording/record.ts'
import { livePageRoutes } from './page/routes.ts'
import { liveQueues } from './queues.ts'
import { broadcastRoutes } from './routes.ts'
import { Broadcast, BroadcastList } from './schemas.ts'
import { BroadcastLookup } from './state/broadcast-lookup.ts'
import { expireLive } from './state/expiry/expire.ts'
import { feedRoutes } from './state/feed/routes.ts'
import type { Broadcasts } from './state/live-broadcast.ts'
import { studioErrors } from './studio/errors.ts'
import { studioPageRoutes } from './studio/page-routes.ts'
import { deleteExpired } from './studio/store.ts'
import { NewStudioToken, StudioToken, StudioTokenList, studioTokenRoutes } from './studio/token-routes.ts'

export const live: Slice = {
  errors: { ...whipErrors, ...studioErrors },
  queues: liveQueues,
  metrics: [droppedFrames, encoderBytes, encoderConnections, lostSeconds, recordings],
  schemas: [Broadcast, BroadcastList, StudioToken, StudioTokenList, NewStudioToken],
  jobs: { 'record-broadcast': recordBroadcast },
  tasks: [
    // Processes with the role live do this as well, but there may be none left.
    { name: 'end overdue broadcasts', everyMs: 5_000, run: endOverdueBroadcasts },
    { name: 'end abandoned broadcasts', everyMs: 5_000, run: endAbandonedBroadcasts },
    { name: 'record long broadcasts', everyMs: 60_000, run: recordLongBroadcasts },
    { name: 'expire live segments', everyMs: 60_000, run: expireLive },
    { name: 'expire studio tokens', everyMs: 600_000, run: ({ db, now }) => deleteExpired(db, now()) },
    { name: 'forget receivers of WebRTC', everyMs: 600_000, run: ({ db }) => deleteGoneReceivers(db) },
  ],
  open() {
    const broadcasts: Broadcasts = new Map()
    // Any process has begun, changed or ended a broadcast.
    const changes = createWakeSignal()
    let ingest: RunningIngest | undefined
    const whip = () => ingest?.whip
    return {
      channels: { [liveChannel]: () => changes.wake() },
      routes(app, context) {
        broadcastRoutes(app, context)
        studioTokenRoutes(app, context)
        whipApiRoutes(app, context, new WhipGateway(context, whip))
      },
      async publicRoutes(app, context) {
        const lookup = new BroadcastLookup({ ...context, broadcasts })
        app.addHook('preClose', async () => lookup.close())
        await liveMediaRoutes(app, context, lookup)
        await livePageRoutes(app, { ...context, changes }, lookup)
        await whipRoutes(app, context, new WhipGateway(context, whip))
        await studioPageRoutes(app, context)
      },
      processRoutes(app, context) {
        feedRoutes(app, context, broadcasts)
        whipInternalRoutes(app, context, whip)
      },
      async startLive(context) {
        ingest = await startIngest({ ...context, broadcasts, changes })
        return ingest
      },
    }
  },
}
