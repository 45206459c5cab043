import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAdmitted } from '../accounts/authenticate.ts'
import type { Context } from '../context.ts'
import { unauthenticated } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import type { Limit } from '../lib/limit-requests.ts'
import { uploadsErrors } from './errors.ts'
import type { UploadTokenRow } from './tables.ts'
import * as tokenStore from './token-store.ts'

/** Finds the upload token of a request, which counts against it; a request without a good one against its address. */
export async function authorizeToken(
  { db, now }: Pick<Context, 'db' | 'now'>,
  limit: Limit,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string | undefined,
): Promise<UploadTokenRow> {
  const row = token && isId('to', token) ? await tokenStore.findToken(db, token, now()) : undefined
  if (!row || !isAdmitted(row.environment, request.requiredEnvironment)) {
    limit(reply, addressOf(request), 'uploads')
    throw unauthenticated(token ? uploadsErrors.invalidToken : uploadsErrors.missingToken)
  }
  limit(reply, row.token, 'uploads')
  return row
}

/** What unauthenticated requests are counted by. */
export const addressOf = ({ ip }: FastifyRequest) => `address ${ip}`
