import { LRUCache } from 'lru-cache'

/** 50 reports a second allow for 500 viewers behind one proxy, each reporting every ten seconds. */
const refillPerSecond = 50
const bucketSize = 3_000
const maxNetworks = 50_000

type Bucket = { tokens: number; refilledAt: number }

/** The IPv4 address, or the /64 network of an IPv6 address, which usually belongs to one customer. */
function networkOf(ipAddress: string): string {
  if (!ipAddress.includes(':') || ipAddress.includes('.')) return ipAddress
  const [head = '', tail] = ipAddress.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}

/**
 * A token bucket for each network, in the memory of this process. The returned function takes `cost` tokens and returns
 * 0, or takes none and returns the number of seconds to wait.
 */
export function createIpRateLimit(now: () => number) {
  // A bucket that is evicted starts full again. A flood from this many networks is not stopped by a limit per network.
  const buckets = new LRUCache<string, Bucket>({ max: maxNetworks })

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
