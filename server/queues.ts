import { type AnalyticsJobs, analyticsQueues } from './analytics/queues.ts'
import { type EncodingJobs, encodingQueues } from './encoding/queues.ts'
import type { Queues } from './lib/queue.ts'
import { type LiveJobs, liveQueues } from './live/queues.ts'
import { type ThumbnailsJobs, thumbnailsQueues } from './thumbnails/queues.ts'
import { type UploadsJobs, uploadsQueues } from './uploads/queues.ts'
import { type VideosJobs, videosQueues } from './videos/queues.ts'
import { type WatermarksJobs, watermarksQueues } from './watermarks/queues.ts'

/** The payload of each queue's jobs. */
export type Jobs = VideosJobs &
  ThumbnailsJobs &
  UploadsJobs &
  EncodingJobs &
  WatermarksJobs &
  LiveJobs &
  AnalyticsJobs

export const queues: Queues<Jobs> = {
  ...videosQueues,
  ...thumbnailsQueues,
  ...uploadsQueues,
  ...encodingQueues,
  ...watermarksQueues,
  ...liveQueues,
  ...analyticsQueues,
}
