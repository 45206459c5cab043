import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, invalidPayload } from '../lib/errors.ts'
import { dashboardErrors } from './errors.ts'
import { checkCsrfToken, requireSession, type Session } from './sessions.ts'

type Deps = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>

export const isRead = ({ method }: FastifyRequest) => method === 'GET' || method === 'HEAD'

/** Finds the session of a request, and rejects what another site could have sent. */
export async function authorize(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<Session> {
  reply.header('cache-control', 'no-store')
  rejectCrossSite(deps, request)
  const session = await requireSession(deps, request, reply)
  if (!isRead(request)) checkCsrfToken(deps, request, session)
  return session
}

/** Rejects logins that another site could have sent: forms of other sites cannot send this content type. */
export function checkLogin(deps: Deps, request: FastifyRequest): void {
  rejectCrossSite(deps, request)
  const [type] = (request.headers['content-type'] ?? '').split(';')
  if (type?.trim().toLowerCase() !== 'application/json')
    throw invalidPayload('The Content-Type header must be application/json.')
}

/** Browsers send these headers, and pages cannot change them. Other clients send none of them. */
function rejectCrossSite({ publicUrl }: Deps, { headers, host }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  const isSameSite = site === undefined || site === 'same-origin' || site === 'none'
  const { origin } = headers
  const isOurOrigin = origin === undefined || origin === publicUrl() || URL.parse(origin)?.host === host
  if (!isSameSite || !isOurOrigin) throw new ApiError(dashboardErrors.crossSite)
}
