import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret, newSecret } from '../accounts/keys.ts'
import type { Context } from '../context.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import { dashboardErrors } from './errors.ts'
import { lockPassword } from './password-store.ts'
import * as store from './session-store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>

/** The session of a request. The token is the value of the cookie. */
export type Session = store.StoredSession & { token: string }

const cookieName = 'kinora_session'
const lifetimeSeconds = 30 * 24 * 3_600
/** A session is extended at most once a day. */
const renewAfterSeconds = 24 * 3_600
/** How long the password can be set without the current one after a login by link. */
const passwordMs = 15 * 60_000

const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1_000)

/** A link, or the hash of the password. */
export type Proof = { passwordHash: string | undefined }

/** Creates a session with a new token and sets the cookie. A session that the browser already had is ended. */
export async function openSession(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { passwordHash }: Proof,
): Promise<Session> {
  const { db, now } = deps
  const token = newSecret()
  const created = now()
  const row = {
    id: newId('ds'),
    created_at: created,
    expires_at: after(created, lifetimeSeconds),
    password_until: passwordHash === undefined ? new Date(created.getTime() + passwordMs) : null,
  }
  const earlier = await findSession(deps, request)
  await db.transaction().execute(async (trx) => {
    // A change of the password ends all sessions. A login that began before it must not open another one.
    if (passwordHash !== undefined && !(await lockPassword(trx, passwordHash)))
      throw new ApiError(dashboardErrors.wrongPassword)
    if (earlier) await store.endSession(trx, earlier.id)
    await store.insertSession(trx, { ...row, hash: hashSecret(token) })
  })
  setCookie(deps, reply, token, lifetimeSeconds)
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
  if (session.expires_at < after(now, lifetimeSeconds - renewAfterSeconds)) {
    session.expires_at = after(now, lifetimeSeconds)
    await store.extendSession(deps.db, session.id, session.expires_at)
    setCookie(deps, reply, session.token, lifetimeSeconds)
  }
  return session
}

async function findSession({ db, now }: Deps, { headers }: FastifyRequest): Promise<Session | undefined> {
  const token = parseCookie(headers.cookie ?? '')[cookieName]
  if (!token) return undefined
  const session = await store.findSession(db, hashSecret(token), now())
  return session && { ...session, token }
}

/** The path keeps the cookie from the player pages and the public API. */
function setCookie({ config, publicUrl }: Deps, reply: FastifyReply, value: string, maxAge: number): void {
  const secure = config.tls !== undefined || publicUrl().startsWith('https:')
  reply.header(
    'set-cookie',
    stringifySetCookie({
      ...{ name: cookieName, value, maxAge, secure },
      ...{ path: '/dashboard', httpOnly: true, sameSite: 'strict' },
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
