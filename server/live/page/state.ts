import type { WatchedStream } from '../state/watched-streams.ts'

type StreamState = 'waiting' | 'live' | 'away' | 'ended'

export const stateOf = ({ latest }: WatchedStream): StreamState => latest?.state ?? 'waiting'

/** Changes with what the player page shows besides the picture. */
export const versionOf = (stream: WatchedStream): string =>
  [stateOf(stream), stream.latest?.id, stream.latest?.recording].filter((part) => part != null).join('-')
