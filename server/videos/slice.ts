import type { Slice } from '../slice.ts'
import { mergeCounts } from './count-store.ts'
import { deleteOldSandboxVideos } from './delete.ts'
import { deleteExpiredVideos } from './discard.ts'
import { discardedRoutes } from './discarded-routes.ts'
import type { VideoParts } from './parts.ts'
import { videosQueues } from './queues.ts'
import { videoRoutes } from './routes.ts'
import { TagList, Video, VideoList } from './schemas.ts'
import { VideoStatus } from './status-schemas.ts'

export const videos = (parts: VideoParts): Slice => ({
  queues: videosQueues,
  schemas: [Video, VideoList, VideoStatus, TagList],
  routes(app, context) {
    videoRoutes(app, { ...context, parts })
    discardedRoutes(app, context)
  },
  tasks: [
    { name: 'merge video counts', everyMs: 2_000, run: ({ db }) => mergeCounts(db) },
    { name: 'delete old sandbox videos', everyMs: 60_000, run: deleteOldSandboxVideos },
    { name: 'delete expired videos', everyMs: 60_000, run: deleteExpiredVideos },
  ],
})
