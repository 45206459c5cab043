import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'

/**
 * A token of a private video looks like a UUID (version 8, RFC 9562) and is kept nowhere: 30 bits of issue time in
 * seconds, 34 random bits, which tell tokens of one second apart, and 58 bits of HMAC-SHA256 over video, time and
 * chance. Reading a video thus writes nothing. Who guesses a token has to ask us 2^57 times.
 */

/** Lasts until 2058. */
const epochSeconds = Date.UTC(2024, 0, 1) / 1000
const [timeBits, randomBits, macBits] = [30, 34, 58] as const

// One spelling: another one of the same token would be another viewer's.
const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function issueToken(secret: Buffer, videoId: string, now: Date): string {
  const time = BigInt.asUintN(timeBits, BigInt(Math.floor(now.getTime() / 1000) - epochSeconds))
  return write(secret, videoId, (time << BigInt(randomBits)) | BigInt(randomInt(2 ** randomBits)))
}

/** When it was issued, if we issued it for this video. */
export function readToken(secret: Buffer, videoId: string, token: string): Date | undefined {
  if (!pattern.test(token)) return undefined
  const head = readHead(token)
  if (!timingSafeEqual(Buffer.from(write(secret, videoId, head)), Buffer.from(token))) return undefined
  return new Date((Number(head >> BigInt(randomBits)) + epochSeconds) * 1000)
}

function write(secret: Buffer, videoId: string, head: bigint): string {
  const mac = createHmac('sha256', secret).update(`private token ${videoId} ${head}`).digest()
  const bits = (head << BigInt(macBits)) | (mac.readBigUInt64BE() >> BigInt(64 - macBits))
  // Of 122 bits, 48 stand before the version, 12 between it and the variant, 62 after that.
  const [a, b, c] = [bits >> 74n, BigInt.asUintN(12, bits >> 62n), BigInt.asUintN(62, bits)]
  const hex = ((a << 80n) | (8n << 76n) | (b << 64n) | (2n << 62n) | c).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function readHead(token: string): bigint {
  const uuid = BigInt(`0x${token.replaceAll('-', '')}`)
  const [a, b, c] = [uuid >> 80n, BigInt.asUintN(12, uuid >> 64n), BigInt.asUintN(62, uuid)]
  return ((a << 74n) | (b << 62n) | c) >> BigInt(macBits)
}
