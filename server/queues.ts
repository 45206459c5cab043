/** The payload of each queue's jobs. Each slice adds those of its queues in its `queues.ts`. */
// biome-ignore lint/suspicious/noEmptyInterface: slices extend it.
export interface Jobs {}
