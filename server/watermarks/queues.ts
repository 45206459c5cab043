import type { Queues } from '../lib/queue.ts'

type WatermarksJobs = {
  /** Removes the image of a deleted watermark. */
  'remove-watermark': { watermarkId: string }
}

declare module '../queues.ts' {
  interface Jobs extends WatermarksJobs {}
}

export const watermarksQueues: Queues<WatermarksJobs> = {
  'remove-watermark': {
    concurrency: 1,
    retryLimit: 100,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 300,
  },
}
