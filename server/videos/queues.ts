import type { Queues } from '../lib/queue.ts'

export type VideosJobs = {
  /** Deletes everything that is stored for a deleted video. */
  'remove-files': { videoId: string; handle: string | null }
}

export const videosQueues: Queues<VideosJobs> = {
  'remove-files': { concurrency: 1, retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
}
