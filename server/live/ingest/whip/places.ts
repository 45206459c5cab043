/** Encoders that have connected need no place. */
const maxConnecting = 100
const maxConnectingOfStream = 4

export type Connecting = {
  streamKey: string
  environment: string
  /** It has answered from its address, so the address is not invented. */
  isProven: boolean
}

/**
 * Which of the connecting encoders, the oldest first, has to give up its place for the next one. Undefined if there are
 * free places. The environment and the live stream with the most of them give one up, so that nobody can take the places
 * of others.
 */
export function findEvicted<T extends Connecting>(connecting: T[], streamKey: string): T | undefined {
  const ofStream = connecting.filter((each) => each.streamKey === streamKey)
  if (ofStream.length >= maxConnectingOfStream) return leastLikely(ofStream)
  if (connecting.length < maxConnecting) return undefined
  const ofEnvironment = largestGroup(connecting, ({ environment }) => environment)
  return leastLikely(largestGroup(ofEnvironment, (each) => each.streamKey))
}

const leastLikely = <T extends Connecting>(all: T[]) => all.find(({ isProven }) => !isProven) ?? all[0]

function largestGroup<T>(all: T[], keyOf: (each: T) => string): T[] {
  let largest: T[] = []
  for (const group of Map.groupBy(all, keyOf).values()) if (group.length > largest.length) largest = group
  return largest
}
