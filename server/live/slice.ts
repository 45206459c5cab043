import type { Slice } from '../slice.ts'
import { livePlaybackRoutes } from './playback/routes.ts'
import { recordLongBroadcasts } from './recording/plan.ts'
import { recordBroadcast } from './recording/record.ts'

export const live: Slice = {
  publicRoutes: livePlaybackRoutes,
  jobs: { 'record-broadcast': recordBroadcast },
  tasks: [{ name: 'record long broadcasts', everyMs: 60_000, run: recordLongBroadcasts }],
}
