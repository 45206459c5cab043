import type { Queues } from '../lib/queue.ts'

type LiveJobs = {
  /** Makes a video of a part of a broadcast. */
  'record-broadcast': { broadcastId: string; part: number }
}

declare module '../queues.ts' {
  interface Jobs extends LiveJobs {}
}

/** A file store that is full or unreachable usually recovers: 100 retries take eight hours. */
export const maxRecordingRetries = 100

export const liveQueues: Queues<LiveJobs> = {
  'record-broadcast': {
    concurrency: 2,
    needsSpace: true,
    retryLimit: maxRecordingRetries,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 300,
  },
}
