import type { Slice } from '../slice.ts'
import { endOverdueBroadcasts } from './end-broadcast.ts'
import { feedRoutes } from './feed/routes.ts'
import { livePlaybackRoutes } from './playback/routes.ts'

export const live: Slice = {
  publicRoutes: livePlaybackRoutes,
  processRoutes: feedRoutes,
  tasks: [
    // Processes with the role live do the same, but there may be none left.
    { name: 'end overdue broadcasts', everyMs: 5_000, run: async (context) => endOverdueBroadcasts(context) },
  ],
}
