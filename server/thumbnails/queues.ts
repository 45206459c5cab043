import type { Queues } from '../lib/queue.ts'

type ThumbnailsJobs = {
  /** Creates the thumbnail and the sprites that are missing or out of date. */
  'make-pictures': { videoId: string }
}

declare module '../queues.ts' {
  interface Jobs extends ThumbnailsJobs {}
}

export const thumbnailsQueues: Queues<ThumbnailsJobs> = {
  'make-pictures': {
    concurrency: 2,
    needsSpace: true,
    retryLimit: 100,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 300,
  },
}
