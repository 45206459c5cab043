import type { Slice } from '../slice.ts'
import { collectorRoutes } from './collector.ts'
import { dataRoutes } from './data-routes.ts'
import { AggregatedMetric, MetricBuckets, MetricSeries } from './data-schemas.ts'
import { deleteSessions } from './delete-sessions.ts'
import { expireSessions } from './expire.ts'
import { MetadataKeys, MetadataValues, metadataRoutes, Retention } from './metadata-routes.ts'
import { PlayList, playsRoutes } from './plays-routes.ts'
import { analyticsQueues } from './queues.ts'
import { sessionRoutes } from './session-routes.ts'
import {
  ViewerSession,
  ViewerSessionList,
  ViewingEventList,
  ViewingSession,
  ViewingSessionList,
} from './session-schemas.ts'

export const analytics: Slice = {
  queues: analyticsQueues,
  schemas: [
    ViewingSession,
    ViewingSessionList,
    ViewerSession,
    ViewerSessionList,
    ViewingEventList,
    AggregatedMetric,
    MetricBuckets,
    MetricSeries,
    MetadataKeys,
    MetadataValues,
    Retention,
    PlayList,
  ],
  routes(app, context) {
    dataRoutes(app, context)
    metadataRoutes(app, context)
    playsRoutes(app, context)
    sessionRoutes(app, context)
  },
  publicRoutes: collectorRoutes,
  jobs: {
    async 'remove-files'({ db }, { videoId }) {
      await deleteSessions(db, { mediaId: videoId })
    },
    async 'delete-sessions'({ db }, { mediaId }) {
      await deleteSessions(db, { mediaId })
    },
  },
  tasks: [{ name: 'expire viewing sessions', everyMs: 600_000, run: expireSessions }],
}
