import type { LiveBroadcast } from './live-broadcast.ts'

/** The broadcasts that this process owns, by their ids. */
export type BroadcastRegistry = Map<string, LiveBroadcast>
