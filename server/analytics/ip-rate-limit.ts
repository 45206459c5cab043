/** Reports by one address: 50 a second are 500 viewers who report every ten seconds, behind one proxy or school. */
const perSecond = 50
const burst = 3_000
const mostAddresses = 50_000

type Bucket = { left: number; at: number }

/** The network of an address of version 6: whoever has one of its addresses has them all. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}

/** Counts what each address sends, in this process. Zero: it may; else the seconds until it may again. */
export function createSenderLimits(now: () => number) {
  const buckets = new Map<string, Bucket>()

  return function use(address: string, cost: number): number {
    const network = networkOf(address)
    const time = now()
    let bucket = buckets.get(network)
    if (!bucket) {
      // Those that have sent nothing for a while are as good as new, and those who flood from everywhere get nothing
      // out of making us forget.
      if (buckets.size >= mostAddresses) buckets.clear()
      bucket = { left: burst, at: time }
      buckets.set(network, bucket)
    }
    bucket.left = Math.min(burst, bucket.left + ((time - bucket.at) / 1_000) * perSecond)
    bucket.at = time
    if (bucket.left < cost) return Math.ceil((cost - bucket.left) / perSecond)
    bucket.left -= cost
    return 0
  }
}
