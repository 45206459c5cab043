import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Claim } from '../store.ts'

/** A recorded request is useless after this time. The clocks of two machines may differ by as much. */
const validMs = 5 * 60_000

/** The header by which a process of this service requests the feed of a broadcast. */
export function signFeedRequest(secret: Buffer, claim: Claim, now: Date): string {
  return format(secret, claim, now.getTime())
}

export function isSignedFeedRequest(
  secret: Buffer,
  claim: Claim,
  header: string | undefined,
  now: Date,
): boolean {
  const [, digits] = /^Kinora (\d{1,15})\.[\w-]+$/.exec(header ?? '') ?? []
  if (header === undefined || digits === undefined) return false
  const expected = Buffer.from(format(secret, claim, Number(digits)))
  const actual = Buffer.from(header)
  const isAuthentic = actual.length === expected.length && timingSafeEqual(actual, expected)
  return isAuthentic && Math.abs(now.getTime() - Number(digits)) <= validMs
}

function format(secret: Buffer, { id, fence }: Claim, atMs: number): string {
  const mac = createHmac('sha256', secret).update(`live feed ${id} ${fence} ${atMs}`).digest('base64url')
  return `Kinora ${atMs}.${mac}`
}
