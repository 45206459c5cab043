/** Every queue: what its jobs carry and how often one is tried. */
export type Jobs = {
  /** Fetch the source of a video from its address, or copy it from the video it names. */
  'fetch-source': { videoId: string }
}

export type QueueName = keyof Jobs

export const queues: Record<QueueName, { retryLimit: number; retryDelay: number; retryBackoff: boolean }> = {
  'fetch-source': { retryLimit: 5, retryDelay: 2, retryBackoff: true },
}
