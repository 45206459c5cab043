import { createHmac, createPublicKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { FastifyRequest } from 'fastify'
import { compactVerify, decodeProtectedHeader, errors } from 'jose'
import type { Context } from '../context.ts'
import { isId } from '../lib/ids.ts'
import { Lru } from '../lib/lru.ts'
import { goingOnSeconds } from './session-store.ts'
import { findPublicKey } from './signing-key-store.ts'

/** What a playback token says that a customer has signed (JWT, RFC 7519). */
export type Claims = {
  exp: number
  nbf: number | undefined
  /** Hosts of the pages that may show the video. */
  referrers: string[] | undefined
  /** ISO codes of the countries in which it may be seen. */
  countries: string[] | undefined
}

/** Ours have no dots. */
export const isSigned = (token: string) => token.includes('.')

/** What it says, if a key of the video's environment has signed it for this video. */
export async function readSigned(
  { db, now }: Pick<Context, 'db' | 'now'>,
  videoId: string,
  token: string,
): Promise<Claims | undefined> {
  const kid = keyIdOf(token)
  const key = kid && isId('sk', kid) ? await findKey({ db, now }, kid, videoId) : undefined
  if (!key) return undefined
  try {
    // Exactly this algorithm: the token does not choose how it is checked.
    const { payload } = await compactVerify(token, key, { algorithms: ['ES256'] })
    return readClaims(JSON.parse(Buffer.from(payload).toString()), videoId)
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function keyIdOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

function readClaims(payload: unknown, videoId: string): Claims | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { sub, exp, nbf, referrers, countries } = payload as Record<string, unknown>
  if (sub !== videoId || !isTime(exp) || !(nbf === undefined || isTime(nbf))) return undefined
  // A limit that cannot be understood is not taken for none.
  if (!isListOrNone(referrers) || !isListOrNone(countries)) return undefined
  return { exp, nbf, referrers, countries }
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

const isListOrNone = (value: unknown): value is string[] | undefined =>
  value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'))

/**
 * Whether it may be used here and now. It is for any number of viewers. Who has begun to play with it need not show
 * again from where, and may go on when it is over: the player page asks for media itself, not the page around it.
 */
export function maySigned(
  { config, now }: Pick<Context, 'config' | 'now'>,
  { headers }: Pick<FastifyRequest, 'headers'>,
  { exp, nbf, referrers, countries }: Claims,
  { isStart, begunAt }: { isStart: boolean; begunAt: Date | undefined },
): boolean {
  const seconds = now().getTime() / 1000
  if (seconds < (nbf ?? 0)) return false
  if (begunAt) return seconds < exp || (!isStart && seconds < begunAt.getTime() / 1000 + goingOnSeconds)
  if (seconds >= exp) return false
  if (countries) {
    const country = config.countryHeader === undefined ? undefined : headers[config.countryHeader]
    if (typeof country !== 'string') return false
    if (!countries.some((each) => each.toUpperCase() === country.trim().toUpperCase())) return false
  }
  return referrers === undefined || mayRefer(referrers, headers.referer)
}

function mayRefer(patterns: string[], referer: string | undefined): boolean {
  if (referer === undefined || !URL.canParse(referer)) return false
  const { host, hostname } = new URL(referer)
  return patterns.some((each) => matches(each, host, hostname))
}

/** Stands in the addresses of what was begun, as a session does, and says when. Only for the token it was made for. */
export function makePass({ now, secret }: Pick<Context, 'now' | 'secret'>, token: string): string {
  return writePass(secret, token, Math.floor(now().getTime() / 1000))
}

/** When it was made, if we made it for this token. */
export function readPass({ secret }: Pick<Context, 'secret'>, token: string, pass: string): Date | undefined {
  const [, time] = /^([0-9a-z]{6,8})-[\w-]{22}$/.exec(pass) ?? []
  if (time === undefined) return undefined
  const seconds = Number.parseInt(time, 36)
  const [wanted, given] = [Buffer.from(writePass(secret, token, seconds)), Buffer.from(pass)]
  const isOurs = wanted.length === given.length && timingSafeEqual(wanted, given)
  return isOurs ? new Date(seconds * 1000) : undefined
}

function writePass(secret: Buffer, token: string, seconds: number): string {
  const mac = createHmac('sha256', secret).update(`pass ${seconds} ${token}`).digest('base64url')
  return `${seconds.toString(36)}-${mac.slice(0, 22)}`
}

/** `example.com`, `*.example.com` for what is below it, either with a port to mean that one alone. */
function matches(pattern: string, host: string, hostname: string): boolean {
  const [, isBelow, name = '', port = ''] = /^(\*\.)?([^:*]+)(:\d+)?$/.exec(pattern.trim()) ?? []
  const wanted = domainToASCII(name)
  if (wanted === '') return false
  const given = port === '' ? hostname : host
  return isBelow ? given.endsWith(`.${wanted}${port}`) : given === wanted + port
}

const rereadMs = 2_000
const keys = new Lru<string, { key: KeyObject; until: number }>(10_000)

/** Called when a key is deleted here; other processes hear of it when they read it again. */
export const forgetKeys = () => keys.clear()

/** Kept for a moment: a viewer asks for many files. */
async function findKey(
  { db, now }: Pick<Context, 'db' | 'now'>,
  keyId: string,
  videoId: string,
): Promise<KeyObject | undefined> {
  const name = `${keyId} ${videoId}`
  const known = keys.get(name)
  if (known && now().getTime() < known.until) return known.key
  const pem = await findPublicKey(db, keyId, videoId)
  if (pem === undefined) return undefined
  const key = createPublicKey(pem)
  keys.set(name, { key, until: now().getTime() + rereadMs })
  return key
}
