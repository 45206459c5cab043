import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'

/**
 * The token of a private video looks like a UUID (version 8, RFC 9562) and is not stored, so that reading a video writes
 * nothing. It has 30 bits of issue time in seconds, 34 random bits, and 58 bits of HMAC-SHA256 over the id of the video,
 * the time and the random bits. Guessing a token takes 2^57 requests on average.
 */

/** 30 bits of seconds from here last until 2058. */
const epochSeconds = Date.UTC(2024, 0, 1) / 1000
const [timeBits, randomBits, macBits] = [30, 34, 58] as const

// Lower case only: each spelling of a token would otherwise open a session of its own.
const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function issueToken(secret: Buffer, videoId: string, now: Date): string {
  const time = BigInt.asUintN(timeBits, BigInt(Math.floor(now.getTime() / 1000) - epochSeconds))
  return format(secret, videoId, (time << BigInt(randomBits)) | BigInt(randomInt(2 ** randomBits)))
}

/** When the token was issued, if it is authentic and belongs to this video. */
export function readToken(secret: Buffer, videoId: string, token: string): Date | undefined {
  if (!pattern.test(token)) return undefined
  const head = readHead(token)
  if (!timingSafeEqual(Buffer.from(format(secret, videoId, head)), Buffer.from(token))) return undefined
  return new Date((Number(head >> BigInt(randomBits)) + epochSeconds) * 1000)
}

function format(secret: Buffer, videoId: string, head: bigint): string {
  const mac = createHmac('sha256', secret).update(`private token ${videoId} ${head}`).digest()
  const bits = (head << BigInt(macBits)) | (mac.readBigUInt64BE() >> BigInt(64 - macBits))
  // A UUID has 122 free bits: 48 before the version, 12 between version and variant, 62 after the variant.
  const [a, b, c] = [bits >> 74n, BigInt.asUintN(12, bits >> 62n), BigInt.asUintN(62, bits)]
  const hex = ((a << 80n) | (8n << 76n) | (b << 64n) | (2n << 62n) | c).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function readHead(token: string): bigint {
  const uuid = BigInt(`0x${token.replaceAll('-', '')}`)
  const [a, b, c] = [uuid >> 80n, BigInt.asUintN(12, uuid >> 64n), BigInt.asUintN(62, uuid)]
  return ((a << 74n) | (b << 62n) | c) >> BigInt(macBits)
}
