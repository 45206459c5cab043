/** Every queue: what its jobs carry and how often one is tried. */
export type Jobs = {
  /** Fetch the source of a video from its address, or copy it from the video it names. */
  'fetch-source': { videoId: string }
  /** Make one file of the pieces of an upload that is complete. */
  'store-source': { videoId: string }
  /** Look at a source that has arrived, and lay out its encoding. */
  'plan-encoding': { videoId: string }
  /** Bring the MP4 in line with what is encoded and wanted. */
  'finish-encoding': { videoId: string }
  /** Bring the thumbnail and the sprites in line with what is encoded and wished for. */
  'make-pictures': { videoId: string }
  /** Remove what a deleted video leaves in the file store. */
  'remove-files': { videoId: string; handle: string | null }
}

export type QueueName = keyof Jobs

type Retries = { retryLimit: number; retryDelay: number; retryBackoff: boolean; retryDelayMax?: number }

export const queues: Record<QueueName, Retries> = {
  'fetch-source': { retryLimit: 100, retryDelay: 2, retryBackoff: true, retryDelayMax: 300 },
  // A file store that is full or out of reach comes back: hours of tries, minutes apart at most.
  'store-source': { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  'plan-encoding': { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  'finish-encoding': { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  'make-pictures': { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
  'remove-files': { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 },
}
