import type { Queues } from '../lib/queue.ts'

type ThumbnailsJobs = {
  /** Creates the first thumbnail of a video that has become playable. */
  'make-first-picture': { videoId: string }
  /** Creates the thumbnail and the sprites that are missing or out of date. */
  'make-pictures': { videoId: string }
}

declare module '../queues.ts' {
  interface Jobs extends ThumbnailsJobs {}
}

const retries = { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 }

export const thumbnailsQueues: Queues<ThumbnailsJobs> = {
  // Takes less than a second, and must not wait for the sprites of long videos.
  'make-first-picture': { concurrency: 1, needsSpace: true, ...retries },
  'make-pictures': { concurrency: 2, needsSpace: true, ...retries },
}
