import type { Queues } from '../lib/queue.ts'

type UploadsJobs = {
  /** Fetches the source of a video from a URL, or copies it from another video. A retry also if that has failed before. */
  'fetch-source': { videoId: string; isRetry?: boolean }
  /** Joins the chunks of a complete upload to one file. */
  'store-source': { videoId: string }
  /** Encodes what has arrived of a source. */
  'encode-early': { videoId: string }
  /** What has arrived of a source could not be encoded. */
  'give-up-early': { videoId: string }
  /** Removes the file of a dropped source, or an unreadable file that another upload replaces. */
  'remove-source': { videoId: string }
}

declare module '../queues.ts' {
  interface Jobs extends UploadsJobs {}
}

export const uploadsQueues: Queues<UploadsJobs> = {
  'fetch-source': {
    concurrency: 16,
    needsSpace: true,
    retryLimit: 100,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 300,
  },
  // A file store that is full or unreachable usually recovers: retry for hours, at most 5 minutes apart.
  'store-source': { concurrency: 8, retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  // What it has not examined is examined when more has arrived.
  'encode-early': { concurrency: 4, needsSpace: true, retryLimit: 2, retryDelay: 1, retryBackoff: true },
  'give-up-early': { concurrency: 4, retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  'remove-source': { concurrency: 4, retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
}
