import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../accounts/keys.ts'
import { ApiError, type ErrorKind, invalidAttribute } from '../lib/errors.ts'
import { type App, text } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { countAttemptOf, limitAttempts } from './attempts.ts'
import { dashboardErrors } from './errors.ts'
import { checkLogin } from './guard.ts'
import { hashPassword, isPassword } from './password.ts'
import { findPassword, savePassword } from './password-store.ts'
import { endSession, endSessions, requireCurrentPassword } from './session-store.ts'
import { type ViewDeps, viewSession } from './session-view.ts'
import { clearCookie, isPasswordFree, openSession, type Session } from './sessions.ts'
import { maxPasswordLength, minPasswordLength } from './settings.ts'

const password = (minLength: number) => text(maxPasswordLength, { minLength })

/** Logins need no session. */
export function loginRoutes(app: App, deps: ViewDeps): void {
  const onRequest = async (request: FastifyRequest) => checkLogin(deps, request)

  app.post(
    '/dashboard/login',
    { onRequest, schema: { hide: true, body: Type.Object({ password: password(1) }) } },
    async (request, reply) => {
      const { password } = request.body
      const passwordHash = await limitAttempts(deps, 'password', request.ip, () =>
        matchPassword(deps, password),
      )
      const session = passwordHash && (await openSession(deps, request, reply, { passwordHash }))
      if (!session) throw loginFailed(request, dashboardErrors.wrongPassword)
      return loggedIn(deps, request, reply, session)
    },
  )

  app.post(
    '/dashboard/login-link',
    { onRequest, schema: { hide: true, body: Type.Object({ token: text(200) }) } },
    async (request, reply) => {
      const linkHash = hashSecret(request.body.token)
      const session = await openSession(deps, request, reply, { linkHash })
      if (!session) {
        // Only failures count, so that nobody can lock out the owner of a link. No number of guesses would find one.
        await countAttemptOf(deps, 'link', request.ip)
        throw loginFailed(request, dashboardErrors.invalidLink)
      }
      return loggedIn(deps, request, reply, session)
    },
  )
}

/** Returns the stored hash, or undefined if the password is wrong. */
async function matchPassword({ db }: ViewDeps, password: string): Promise<string | undefined> {
  const stored = await findPassword(db)
  return (await isPassword(password, stored?.hash)) ? stored?.hash : undefined
}

/** Logged with the address, for programs that block attackers. */
function loginFailed(request: FastifyRequest, kind: ErrorKind): ApiError {
  request.log.warn({ requestId: request.id, ip: request.ip, reason: kind.slug }, 'dashboard login failed')
  return new ApiError(kind)
}

function loggedIn(deps: ViewDeps, request: FastifyRequest, reply: FastifyReply, session: Session) {
  reply.header('cache-control', 'no-store')
  request.log.info({ requestId: request.id, sessionId: session.id, ip: request.ip }, 'dashboard login')
  return viewSession(deps, session)
}

/** Routes for a session of its own. */
export function sessionRoutes(app: App, deps: ViewDeps): void {
  const hidden = { schema: { hide: true } }

  app.get('/dashboard/session', hidden, ({ dashboardSession }) => viewSession(deps, dashboardSession))

  app.post('/dashboard/logout', hidden, async ({ dashboardSession }, reply) => {
    await endSession(deps.db, dashboardSession.id)
    clearCookie(deps, reply)
    return reply.code(204).send()
  })

  app.post('/dashboard/logout-everywhere', hidden, async (_request, reply) => {
    await deps.db.transaction().execute((trx) => endSessions(trx, deps.now()))
    clearCookie(deps, reply)
    return reply.code(204).send()
  })

  const body = Type.Object({
    password: password(minPasswordLength),
    currentPassword: Type.Optional(text(maxPasswordLength)),
  })
  app.put('/dashboard/password', { schema: { hide: true, body } }, async (request, reply) => {
    const { password, currentPassword } = request.body
    if (deps.config.adminPassword !== undefined) throw new ApiError(dashboardErrors.passwordIsSetting)
    await checkCurrentPassword(deps, request, currentPassword)
    await changePassword(deps, request.dashboardSession, password)
    return reply.code(204).send()
  })
}

/** Not needed if there is none, or soon after a login by link. */
async function checkCurrentPassword(
  deps: ViewDeps,
  { dashboardSession, ip }: FastifyRequest,
  currentPassword: string | undefined,
): Promise<void> {
  if (isPasswordFree(dashboardSession, deps.now())) return
  if (!(await findPassword(deps.db))) return
  if (currentPassword === undefined)
    throw invalidAttribute('currentPassword', 'The current password is required.')
  const isRight = await limitAttempts(deps, 'password', ip, () => matchPassword(deps, currentPassword))
  if (!isRight) throw invalidAttribute('currentPassword', 'The current password is wrong.')
}

/** Ends all other sessions: whoever knew the old password is logged out. */
async function changePassword({ db, now }: ViewDeps, session: Session, password: string): Promise<void> {
  const hash = await hashPassword(password)
  await db.transaction().execute(async (trx) => {
    await savePassword(trx, { hash, is_setting: false }, now())
    // Somebody else may have ended all sessions in the meantime.
    if (!(await requireCurrentPassword(trx, session.id))) throw new ApiError(dashboardErrors.noSession)
    await endSessions(trx, now(), session.id)
  })
}
