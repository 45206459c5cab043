import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { ApiError } from '../../lib/errors.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'
import { clientTooSlow } from '../../lib/slow-client.ts'
import type { Authenticate } from '../../request.ts'
import type { UploadContext } from '../source/coordinator.ts'
import { authorizeToken, ipSubject } from '../tokens/authorize.ts'
import { toApiError } from './api-error.ts'
import { TusBody } from './body.ts'
import { type Creator, findUpload, removeUpload, videoIdOf } from './create.ts'
import { checkHeaders, hasUploadBody, methodOf, readHeader, toWebRequest, version } from './headers.ts'
import type { ActiveRequests } from './lock.ts'
import { isTusError, runTusServer, type TusResult } from './server.ts'
import { checksumAlgorithms, readChecksum } from './write.ts'

export type Tus = {
  context: Context & UploadContext
  rateLimit: RateLimit
  authenticate: Authenticate
  activeRequests: ActiveRequests
}

export async function handleTus(tus: Tus, request: FastifyRequest, reply: FastifyReply) {
  reply.header('tus-resumable', version)
  const method = methodOf(request)
  checkHeaders(request, reply, method)
  const { uploadId } = request.params as { uploadId?: string }
  if (uploadId !== undefined && method !== 'OPTIONS') await checkUpload(tus, request, reply, method, uploadId)
  const checksum = readChecksum(readHeader(request, 'upload-checksum'))
  const isCreation = uploadId === undefined && method === 'POST'
  const creator = isCreation ? await authorizeCreator(tus, request, reply) : undefined
  const body = hasUploadBody(request, method) ? new TusBody(request.raw) : undefined
  const result = await runTusServer(
    { ...tus, baseUrl: baseUrlOf(tus, request), creator, method, checksum },
    toWebRequest(request, method, body),
  ).finally(() => body?.close())
  const isLost = body !== undefined && request.raw.destroyed && !request.raw.complete
  // Without the response, no client knows the URL of the upload and could continue it.
  if (result.createdId !== undefined && (result.response.status >= 400 || isLost || body?.isTooSlow))
    await removeUpload(tus.context, result.createdId)
  if (body?.isTooSlow) throw clientTooSlow()
  await throwError(result)
  const finalId = result.createdId ?? (method === 'OPTIONS' ? undefined : uploadId)
  if (finalId !== undefined) reply.header('x-video-id', videoIdOf(finalId))
  return send(reply, method, result.response)
}

/** The dashboard may be open at another address than the public URL, and must not leave it. */
function baseUrlOf({ context }: Tus, { requiredEnvironment, dashboardEnvironment }: FastifyRequest): string {
  if (dashboardEnvironment) return `/dashboard/api/${dashboardEnvironment}/tus`
  return `${context.publicUrl()}${requiredEnvironment === 'sandbox' ? '/sandbox/tus' : '/tus'}`
}

async function throwError({ error, response }: TusResult): Promise<void> {
  if (error !== undefined && !isTusError(error)) throw error
  if (response.status >= 400) throw toApiError(response.status, await response.text())
}

/**
 * Checks that the upload exists. The request counts against the creator of the upload, or against the IP address if
 * there is no such upload.
 */
async function checkUpload(
  { context, rateLimit }: Tus,
  request: FastifyRequest,
  reply: FastifyReply,
  method: string,
  uploadId: string,
): Promise<void> {
  const rateClass = method === 'HEAD' ? 'reads' : 'uploads'
  try {
    const source = await findUpload(context, request.requiredEnvironment, uploadId)
    rateLimit(reply, source.created_by ?? source.video_id, rateClass)
  } catch (error) {
    if (error instanceof ApiError && error.slug === 'resource-not-found')
      rateLimit(reply, ipSubject(request), rateClass)
    throw error
  }
}

/** Accepts an upload token, as /upload does, or a key, as /videos/{id}/source does. */
async function authorizeCreator(
  { context, rateLimit, authenticate }: Tus,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Creator> {
  const { ip: address } = request
  // Without a schema, a query parameter is a list of values.
  const { token: tokens } = request.query as { token?: string[] }
  if (tokens !== undefined) {
    // Several tokens are rejected, because it is unknown which one is meant.
    const only = tokens.length === 1 ? tokens[0] : 'several'
    const token = await authorizeToken({ ...context, rateLimit }, request, reply, only)
    return { environment: token.environment, keyId: token.token, token, address }
  }
  try {
    const scope = await authenticate(request)
    rateLimit(reply, scope.keyId, 'uploads')
    return { ...scope, token: undefined, address }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) rateLimit(reply, ipSubject(request), 'uploads')
    throw error
  }
}

async function send(reply: FastifyReply, method: string, response: Response) {
  for (const [name, value] of response.headers) {
    if (!name.startsWith('access-control-') && name !== 'content-length') reply.header(name, value)
  }
  if (method === 'OPTIONS') reply.header('tus-checksum-algorithm', checksumAlgorithms.join(','))
  reply.code(response.status)
  if (response.status === 204 || method === 'HEAD') return reply.send()
  return reply.send(await response.text())
}
