import type { Queues } from '../lib/queue.ts'

type VideosJobs = {
  /** Deletes everything that is stored for a deleted video. */
  'remove-files': { videoId: string; handle: string | null }
  /** The video was discarded or restored. Pauses or resumes the work on it, according to its state at the time. */
  'discarded-changed': { videoId: string }
}

declare module '../queues.ts' {
  interface Jobs extends VideosJobs {}
}

const retries = { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 }

export const videosQueues: Queues<VideosJobs> = {
  'remove-files': { concurrency: 1, ...retries },
  'discarded-changed': { concurrency: 1, ...retries },
}
