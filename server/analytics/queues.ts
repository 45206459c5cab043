import type { Queues } from '../lib/queue.ts'

type AnalyticsJobs = {
  /** Deletes the viewing sessions of a deleted live stream. */
  'delete-sessions': { mediaId: string }
}

declare module '../queues.ts' {
  interface Jobs extends AnalyticsJobs {}
}

export const analyticsQueues: Queues<AnalyticsJobs> = {
  'delete-sessions': {
    concurrency: 1,
    retryLimit: 100,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 300,
  },
}
