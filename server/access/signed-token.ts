import { createHmac, createPublicKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { FastifyRequest } from 'fastify'
import type { decodeProtectedHeader } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { isId } from '../lib/ids.ts'
import { maxEntries } from '../lib/lru.ts'
import { graceSeconds } from './sessions.ts'
import { findPublicKey } from './signing-key-store.ts'

/** The claims of a playback token that a customer signed (JWT, RFC 7519). */
export type Claims = {
  exp: number
  nbf: number | undefined
  /** Hosts of the pages that may show the video. */
  referrers: string[] | undefined
  /** ISO codes of the countries in which it may be watched. */
  countries: string[] | undefined
}

/** Private tokens have no dots. */
export const isSignedToken = (token: string) => token.includes('.')

/** Loaded at first use, so that a start without signed tokens does not load it. */
const loadJose = () =>
  Promise.all([
    import('jose/jws/compact/verify'),
    import('jose/decode/protected_header'),
    import('jose/errors'),
  ])
let jose: ReturnType<typeof loadJose> | undefined

/** The claims, if a key of the environment signed the token for this video or live stream. */
export async function readSignedToken(
  { db }: Pick<Context, 'db'>,
  media: { id: string; environment: Environment },
  token: string,
): Promise<Claims | undefined> {
  jose ??= loadJose()
  const [{ compactVerify }, { decodeProtectedHeader }, { JOSEError }] = await jose
  const keyId = readKeyId(decodeProtectedHeader, token)
  const key = keyId === undefined ? undefined : await findKey(db, media.environment, keyId)
  if (!key) return undefined
  try {
    // The token must not choose how it is verified.
    const { payload } = await compactVerify(token, key, { algorithms: ['ES256'] })
    return readClaims(JSON.parse(Buffer.from(payload).toString()), media.id)
  } catch (error) {
    if (error instanceof JOSEError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function readKeyId(decode: typeof decodeProtectedHeader, token: string): string | undefined {
  try {
    const { kid } = decode(token)
    return typeof kid === 'string' && isId('sk', kid) ? kid : undefined
  } catch {
    return undefined
  }
}

function readClaims(payload: unknown, mediaId: string): Claims | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { sub, exp, nbf, referrers, countries } = payload as Record<string, unknown>
  if (sub !== mediaId || !isTime(exp) || !(nbf === undefined || isTime(nbf))) return undefined
  // An invalid restriction must not count as no restriction.
  if (!isListOrUndefined(referrers) || !isListOrUndefined(countries)) return undefined
  return { exp, nbf, referrers, countries }
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

const isListOrUndefined = (value: unknown): value is string[] | undefined =>
  value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'))

/**
 * Whether the token is valid for this request. Any number of viewers may use it. A viewer who has started to play may
 * continue after it expires, and from any referrer: media are requested by the player page, not by the page around it.
 */
export function maySignedTokenPlay(
  { config, now }: Pick<Context, 'config' | 'now'>,
  { headers }: Pick<FastifyRequest, 'headers'>,
  { exp, nbf, referrers, countries }: Claims,
  { isStart, startedAt }: { isStart: boolean; startedAt: Date | undefined },
): boolean {
  const seconds = now().getTime() / 1000
  if (seconds < (nbf ?? 0)) return false
  if (startedAt) return seconds < exp || (!isStart && seconds < startedAt.getTime() / 1000 + graceSeconds)
  if (seconds >= exp) return false
  if (countries) {
    const country = config.countryHeader === undefined ? undefined : headers[config.countryHeader]
    if (typeof country !== 'string') return false
    if (!countries.some((each) => each.toUpperCase() === country.trim().toUpperCase())) return false
  }
  return referrers === undefined || isReferrerAllowed(referrers, headers.referer)
}

function isReferrerAllowed(patterns: string[], referer: string | undefined): boolean {
  if (referer === undefined || !URL.canParse(referer)) return false
  const { host, hostname } = new URL(referer)
  return patterns.some((each) => matchesHost(each, host, hostname))
}

/** Matches `example.com`, or its subdomains as `*.example.com`. With a port, only that port. */
function matchesHost(pattern: string, host: string, hostname: string): boolean {
  const [, wildcard, name = '', port = ''] = /^(\*\.)?([^:*]+)(:\d+)?$/.exec(pattern.trim()) ?? []
  const expected = domainToASCII(name)
  if (expected === '') return false
  const actual = port === '' ? hostname : host
  return wildcard ? actual.endsWith(`.${expected}${port}`) : actual === expected + port
}

/** Part of the URLs of a viewer who has started to play, as a session id is. Valid only with the signed token. */
export function newResumeToken({ now, secret }: Pick<Context, 'now' | 'secret'>, token: string): string {
  return formatResumeToken(secret, token, Math.floor(now().getTime() / 1000))
}

/** When the viewer started to play, if the resume token is authentic. */
export function readResumeToken(
  { secret }: Pick<Context, 'secret'>,
  token: string,
  resumeToken: string,
): Date | undefined {
  const [, time] = /^([0-9a-z]{6,8})-[\w-]{22}$/.exec(resumeToken) ?? []
  if (time === undefined) return undefined
  const seconds = Number.parseInt(time, 36)
  const expected = Buffer.from(formatResumeToken(secret, token, seconds))
  const actual = Buffer.from(resumeToken)
  const isAuthentic = expected.length === actual.length && timingSafeEqual(expected, actual)
  return isAuthentic ? new Date(seconds * 1000) : undefined
}

function formatResumeToken(secret: Buffer, token: string, seconds: number): string {
  const mac = createHmac('sha256', secret).update(`pass ${seconds} ${token}`).digest('base64url')
  return `${seconds.toString(36)}-${mac.slice(0, 22)}`
}

/** A viewer requests many files in a row. */
const keyCache = new LRUCache<string, KeyObject>({ ...maxEntries(10_000), ttl: 2_000 })

/** Called when a key is deleted. Other processes notice it when their entry expires. */
export const clearKeyCache = () => keyCache.clear()

async function findKey(
  db: Context['db'],
  environment: Environment,
  keyId: string,
): Promise<KeyObject | undefined> {
  const name = `${environment} ${keyId}`
  const cached = keyCache.get(name)
  if (cached) return cached
  const pem = await findPublicKey(db, environment, keyId)
  if (pem === undefined) return undefined
  const key = createPublicKey(pem)
  keyCache.set(name, key)
  return key
}
