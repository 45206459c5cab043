import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAdmitted } from '../../accounts/authenticate.ts'
import type { Context } from '../../context.ts'
import { unauthenticated } from '../../lib/errors.ts'
import { isId } from '../../lib/ids.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'
import { uploadsErrors } from '../errors.ts'
import type { UploadTokenRow } from '../tables.ts'
import * as tokenStore from './store.ts'

/** Finds the upload token of a request. The rate limit counts by token, or by IP address without a valid token. */
export async function authorizeToken(
  { db, now, rateLimit }: Pick<Context, 'db' | 'now'> & { rateLimit: RateLimit },
  request: FastifyRequest,
  reply: FastifyReply,
  token: string | undefined,
): Promise<UploadTokenRow> {
  const row = token && isId('to', token) ? await tokenStore.findToken(db, token, now()) : undefined
  if (!row || !isAdmitted(row.environment, request.requiredEnvironment)) {
    rateLimit(reply, ipSubject(request), 'uploads')
    throw token
      ? unauthenticated(uploadsErrors.invalidToken, describeFault(row))
      : unauthenticated(uploadsErrors.missingToken, `Send it as the parameter "token". ${create}`)
  }
  rateLimit(reply, row.token, 'uploads')
  return row
}

const create = 'Create an upload token with POST /upload-tokens.'

const describeFault = (row: UploadTokenRow | undefined) =>
  row
    ? 'This is an upload token of production, but URLs below /sandbox accept only those of sandbox.'
    : `The upload token is unknown or expired, or it was deleted. ${create}`

/** The subject that unauthenticated requests are counted by. */
export const ipSubject = ({ ip }: FastifyRequest) => `ip ${ip}`
