import type { Queues } from '../lib/queue.ts'

type EncodingJobs = {
  /** Probes a stored source and plans its encoding. */
  'plan-encoding': { videoId: string }
  /** The same if the beginning of the source is encoded already. Earlier versions cannot do that. */
  'continue-encoding': { videoId: string }
  /** Removes the files of what was encoded from the beginning of a source that never became complete. */
  'remove-partial': { videoId: string }
  /** Creates or deletes the MP4 once the segments are encoded, and reports the end of the encoding. */
  'finish-encoding': { videoId: string }
}

declare module '../queues.ts' {
  interface Jobs extends EncodingJobs {}
}

const retries = { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 }

export const encodingQueues: Queues<EncodingJobs> = {
  'plan-encoding': { needsSpace: true, concurrency: 8, ...retries },
  'continue-encoding': { needsSpace: true, concurrency: 8, ...retries },
  'remove-partial': { concurrency: 4, ...retries },
  'finish-encoding': { needsSpace: true, concurrency: 4, ...retries },
}
