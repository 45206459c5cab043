import { LRUCache } from 'lru-cache'
import { maxEntries } from '../lib/lru.ts'
import { networkOf } from '../lib/network.ts'

/** 50 reports a second allow for 500 viewers behind one proxy, each reporting every ten seconds. */
const refillPerSecond = 50
const bucketSize = 3_000
const maxNetworks = 50_000

type Bucket = { tokens: number; refilledAt: number }

/**
 * A token bucket for each network, in the memory of this process. The returned function takes `cost` tokens and returns
 * 0, or takes none and returns the number of seconds to wait.
 */
export function createIpRateLimit(now: () => number) {
  // A bucket that is evicted starts full again. A flood from this many networks is not stopped by a limit per network.
  const buckets = new LRUCache<string, Bucket>(maxEntries(maxNetworks))

  return function consume(ipAddress: string, cost: number): number {
    const network = networkOf(ipAddress)
    const time = now()
    let bucket = buckets.get(network)
    if (!bucket) {
      bucket = { tokens: bucketSize, refilledAt: time }
      buckets.set(network, bucket)
    }
    const refill = ((time - bucket.refilledAt) / 1_000) * refillPerSecond
    bucket.tokens = Math.min(bucketSize, bucket.tokens + refill)
    bucket.refilledAt = time
    if (bucket.tokens < cost) return Math.ceil((cost - bucket.tokens) / refillPerSecond)
    bucket.tokens -= cost
    return 0
  }
}
