import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret, newSecret } from '../accounts/keys.ts'
import type { Context } from '../context.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import { dashboardErrors } from './errors.ts'
import { after, isActive } from './lifetime.ts'
import { useLink } from './link-store.ts'
import { lockPassword } from './password-store.ts'
import * as store from './session-store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>

/** The session of a request. The token is the value of the cookie. */
export type Session = store.StoredSession & { token: string }

const cookieName = 'kinora_session'
const dayMs = 24 * 3_600_000
const lifetimeMs = 30 * dayMs
/** A session is extended at most once a day. */
const renewAfterMs = dayMs
/** How long the password can be set without the current one after a login by link. */
const passwordMs = 15 * 60_000

/** The hash of a link's token, or the hash of the password as it was checked. */
export type Proof = { linkHash: Buffer } | { passwordHash: string }

/**
 * Creates a session with a new token and sets the cookie. A session that the browser already had is ended. Returns
 * undefined if the link does not work, or if the password was changed in the meantime.
 */
export async function openSession(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<Session | undefined> {
  const { db, now } = deps
  const token = newSecret()
  const created = now()
  const row = {
    id: newId('ds'),
    created_at: created,
    expires_at: after(created, lifetimeMs),
    password_until: 'linkHash' in proof ? after(created, passwordMs) : null,
  }
  const earlier = await findSession(deps, request)
  const isOpen = await db.transaction().execute(async (trx) => {
    // What ends all sessions waits for these locks, or is seen by them. Otherwise a login that began before it would
    // open a session after it.
    const isProven =
      'linkHash' in proof
        ? await useLink(trx, proof.linkHash, created)
        : await lockPassword(trx, proof.passwordHash)
    if (!isProven) return false
    if (earlier) await store.endSession(trx, earlier.id)
    await store.insertSession(trx, { ...row, hash: hashSecret(token) })
    return true
  })
  if (!isOpen) return undefined
  setCookie(deps, reply, token, lifetimeMs)
  return { ...row, token }
}

/** Finds the session of the request and extends it. Throws without one. */
export async function requireSession(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Session> {
  const session = await findSession(deps, request)
  if (!session) throw new ApiError(dashboardErrors.noSession)
  const now = deps.now()
  if (session.expires_at < after(now, lifetimeMs - renewAfterMs)) {
    session.expires_at = after(now, lifetimeMs)
    await store.extendSession(deps.db, session.id, session.expires_at)
    setCookie(deps, reply, session.token, lifetimeMs)
  }
  return session
}

/** Whether the password can be set without the current one. */
export const isPasswordFree = ({ password_until }: store.StoredSession, now: Date): boolean =>
  password_until !== null && isActive(password_until, now, passwordMs)

async function findSession({ db, now }: Deps, { headers }: FastifyRequest): Promise<Session | undefined> {
  const token = parseCookie(headers.cookie ?? '')[cookieName]
  if (!token) return undefined
  const session = await store.findSession(db, hashSecret(token), now(), lifetimeMs)
  return session && { ...session, token }
}

/** The path keeps the cookie from the player pages and the public API. */
function setCookie({ config, publicUrl }: Deps, reply: FastifyReply, value: string, maxAgeMs: number): void {
  const secure = config.tls !== undefined || publicUrl().startsWith('https:')
  reply.header(
    'set-cookie',
    stringifySetCookie({
      name: cookieName,
      value,
      maxAge: maxAgeMs / 1_000,
      secure,
      path: '/dashboard',
      httpOnly: true,
      sameSite: 'strict',
    }),
  )
}

export const clearCookie = (deps: Deps, reply: FastifyReply) => setCookie(deps, reply, '', 0)

/** Derived from the token, so that it need not be stored. */
export const csrfTokenOf = ({ secret }: Pick<Deps, 'secret'>, { token }: Session): string =>
  createHmac('sha256', secret).update(`csrf ${token}`).digest('base64url')

export function checkCsrfToken(deps: Deps, { headers }: FastifyRequest, session: Session): void {
  const expected = Buffer.from(csrfTokenOf(deps, session))
  const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''))
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected))
    throw new ApiError(dashboardErrors.invalidCsrfToken)
}
