import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, httpErrors } from '../../lib/errors.ts'
import { tusErrors } from '../errors.ts'

export const version = '1.0.0'
const contentType = 'application/offset+octet-stream'
/** Larger offsets are not exact numbers. */
export const maxUploadBytes = Number.MAX_SAFE_INTEGER

export const readHeader = (request: FastifyRequest, name: string) => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

/** Clients behind proxies that block PATCH and DELETE send POST with X-HTTP-Method-Override. */
export function methodOf(request: FastifyRequest): string {
  const override = readHeader(request, 'x-http-method-override')?.toUpperCase()
  const isOverridden = request.method === 'POST' && (override === 'PATCH' || override === 'DELETE')
  return isOverridden ? override : request.method
}

/** Checks that @tus/server makes too late, or less strictly than the protocol requires. */
export function checkHeaders(request: FastifyRequest, reply: FastifyReply, method: string): void {
  if (method === 'OPTIONS') return
  if (request.headers['tus-resumable'] !== version) {
    reply.header('tus-version', version)
    throw new ApiError(tusErrors.unsupportedVersion, { name: 'Tus-Resumable' })
  }
  const { uploadId } = request.params as { uploadId?: string }
  const isCreation = uploadId === undefined
  if (isCreation ? method !== 'POST' : method === 'POST') throw new ApiError(httpErrors.methodNotAllowed)
  if (method === 'PATCH' && readHeader(request, 'content-type') !== contentType)
    throw new ApiError(tusErrors.unsupportedMediaType, { name: 'Content-Type' })
  const length = readHeader(request, 'upload-length')
  const bodyLength = Number(request.headers['content-length'] ?? 0)
  const isBodyLonger =
    isCreation && hasUploadBody(request, method) && length !== undefined && bodyLength > Number(length)
  if (Number(length ?? 0) > maxUploadBytes || isBodyLonger)
    throw new ApiError(tusErrors.tooLarge, { name: 'Upload-Length' })
}

export const hasUploadBody = (request: FastifyRequest, method: string) =>
  (method === 'PATCH' || method === 'POST') && readHeader(request, 'content-type') === contentType

const forwardedHeaders = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-offset',
  'upload-concat',
  'content-type',
  'content-length',
]

export function toWebRequest(
  request: FastifyRequest,
  method: string,
  body: AsyncIterable<Buffer> | undefined,
): Request {
  const headers = new Headers()
  for (const name of forwardedHeaders) {
    const value = readHeader(request, name)
    // Some clients send an empty Upload-Metadata, which @tus/server rejects as malformed.
    if (value !== undefined && value.trim() !== '') headers.set(name, value)
  }
  const path = request.url.split('?', 1)[0]
  return new Request(`http://tus${path}`, {
    method,
    headers,
    ...(body && { body: ReadableStream.from(body), duplex: 'half' as const }),
  })
}
