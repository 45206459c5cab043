import type { IncomingMessage } from 'node:http'
import { Server } from '@tus/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator } from '../accounts/authenticate.ts'
import type { Context } from '../context.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { addressOf, authorizeToken } from './authorize.ts'
import { tusErrors } from './errors.ts'
import type { Deps } from './receive.ts'
import { depsOf, type Shared } from './routes.ts'
import { type Creator, createUpload, findUpload, removeUpload, uploadId } from './tus-create.ts'
import { TusDataStore, type TusRequest } from './tus-datastore.ts'
import * as described from './tus-described.ts'
import { createLock, createPeek, type Running } from './tus-lock.ts'
import { problemOf } from './tus-problem.ts'
import { checksumAlgorithms, readChecksum } from './tus-write.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In place of what @fastify/cors is told for all routes. */
    cors?: object
  }
}

const version = '1.0.0'
const contentType = 'application/offset+octet-stream'
/** More cannot be counted. */
const mostBytes = Number.MAX_SAFE_INTEGER

/** For clients in browsers. */
const cors = {
  methods: ['POST', 'HEAD', 'PATCH', 'DELETE', 'OPTIONS'],
  allowedHeaders:
    'authorization, content-type, tus-resumable, upload-length, upload-defer-length, upload-metadata, upload-offset, upload-checksum, x-http-method-override, x-requested-with, x-request-id',
  exposedHeaders:
    'location, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, x-video-id, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-retry-after, retry-after',
  preflightContinue: true,
}

type Tus = {
  context: Context
  deps: Deps
  shared: Shared
  authenticator: Authenticator
  running: Running
}

/** tus 1.0 (https://tus.io/protocols/resumable-upload), for the many clients that speak it. */
export function tusRoutes(app: App, context: Context, authenticator: Authenticator, shared: Shared): void {
  const tus: Tus = {
    context,
    deps: depsOf(context, shared),
    shared,
    authenticator,
    running: new Map(),
  }
  // All is done before the body is touched: what comes after that is made for small bodies.
  const onRequest = (request: FastifyRequest, reply: FastifyReply) => answer(tus, request, reply)
  const common = { onRequest, handler() {} }
  const route = (method: string, url: string, description: object) =>
    app.route({
      method,
      url,
      ...common,
      config: { cors, described: description, swagger: { exposeHeadRoute: true } } as object,
    })
  route('POST', '/tus', described.creation)
  route('HEAD', '/tus/:uploadId', described.offset)
  route('PATCH', '/tus/:uploadId', described.patch)
  route('DELETE', '/tus/:uploadId', described.termination)
  const hidden = { ...common, config: { cors }, schema: { hide: true } }
  app.route({ method: 'OPTIONS', url: '/tus', ...hidden })
  // POST stands in for PATCH and DELETE.
  app.route({ method: ['POST', 'OPTIONS'], url: '/tus/:uploadId', ...hidden })
}

async function answer(tus: Tus, request: FastifyRequest, reply: FastifyReply) {
  reply.header('tus-resumable', version)
  const method = methodOf(request)
  checkHeaders(request, reply, method)
  const { uploadId: id } = request.params as { uploadId?: string }
  const isCreation = id === undefined && method === 'POST'
  const asked: TusRequest = {
    base: request.requiredEnvironment === 'sandbox' ? '/sandbox/tus' : '/tus',
    videoId: id === undefined || method === 'OPTIONS' ? '' : await videoOf(tus, request, reply, method, id),
    holder: '',
    checksum: readChecksum(readHeader(request, 'upload-checksum')),
  }
  const creator = isCreation ? await authorize(tus, request, reply) : undefined
  const state: Handled = { failure: undefined }
  const server = createServer(tus, asked, creator, method, state)
  const body = takesBody(request, method) ? arriving(request.raw) : undefined
  const response = await server.handleWeb(toWeb(request, method, body)).finally(() => {
    // What the client still sends is read and thrown away, so that it gets to read the answer.
    void body?.return(undefined).then(() => request.raw.resume())
  })
  // Without the answer nobody knows the address of the upload: nobody would ever go on with it.
  const isLost = response.status >= 400 || (body && request.raw.destroyed && !request.raw.complete)
  if (creator && asked.videoId && isLost) await removeUpload(tus.deps, asked.videoId)
  if (state.failure instanceof ApiError) throw state.failure
  if (state.failure !== undefined && !isOfProtocol(state.failure)) throw state.failure
  if (response.status >= 400) throw problemOf(response.status, await response.text())
  if (asked.videoId) reply.header('x-video-id', asked.videoId)
  return send(reply, method, response)
}

/** Why @tus/server could not handle a request. */
type Handled = { failure: unknown }

/** One for each request: @tus/server has no other way to pass on who asks. */
function createServer(
  { context, deps, running }: Tus,
  asked: TusRequest,
  creator: Creator | undefined,
  method: string,
  state: Handled,
): Server {
  return new Server({
    path: '/tus',
    datastore: new TusDataStore(deps, asked),
    maxSize: mostBytes,
    disableTerminationForFinishedUploads: true,
    // From when somebody else asks for the upload until the request is ended, with what has come by then.
    lockDrainTimeout: 200,
    locker: {
      newLock() {
        if (method === 'HEAD') return createPeek(deps, asked.videoId, running)
        const lock = createLock(deps, asked.videoId, running)
        asked.holder = lock.holder
        return lock
      },
    },
    async namingFunction(created) {
      if (!creator) throw new ApiError(httpErrors.notFound, { name: 'upload' })
      const length = created.headers.get('upload-length')
      const metadata = created.headers.get('upload-metadata') ?? ''
      const source = await createUpload(deps, creator, metadata, length === null ? null : Number(length))
      asked.videoId = source.video_id
      return uploadId(source)
    },
    generateUrl: (_request, { id }) => `${context.publicUrl()}${asked.base}/${id}`,
    onResponseError(_request, error) {
      state.failure = error
      return isOfProtocol(error) ? undefined : { status_code: 500, body: '' }
    },
  })
}

const readHeader = (request: FastifyRequest, name: string) => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

/** For clients behind proxies that know neither PATCH nor DELETE. */
function methodOf(request: FastifyRequest): string {
  const stated = readHeader(request, 'x-http-method-override')?.toUpperCase()
  const isStated = request.method === 'POST' && (stated === 'PATCH' || stated === 'DELETE')
  return isStated ? stated : request.method
}

/** Where @tus/server is less exact than the protocol, or too late. */
function checkHeaders(request: FastifyRequest, reply: FastifyReply, method: string): void {
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
    isCreation && takesBody(request, method) && length !== undefined && bodyLength > Number(length)
  if (Number(length ?? 0) > mostBytes || isBodyLonger)
    throw new ApiError(tusErrors.tooLarge, { name: 'Upload-Length' })
}

const takesBody = (request: FastifyRequest, method: string) =>
  (method === 'PATCH' || method === 'POST') && readHeader(request, 'content-type') === contentType

/** The video of an upload. Requests for it count against whoever created it; for one that does not exist, against the address. */
async function videoOf(
  { deps, shared: { limit } }: Tus,
  request: FastifyRequest,
  reply: FastifyReply,
  method: string,
  id: string,
): Promise<string> {
  const rateClass = method === 'HEAD' ? 'reads' : 'uploads'
  try {
    const source = await findUpload(deps, request.requiredEnvironment, id)
    limit(reply, source.created_by ?? source.video_id, rateClass)
    return source.video_id
  } catch (error) {
    if (error instanceof ApiError && error.slug === 'resource-not-found')
      limit(reply, addressOf(request), rateClass)
    throw error
  }
}

/** As /upload for whoever has a token, and as /videos/{id}/source for whoever has a key. */
async function authorize(
  { deps, shared: { limit }, authenticator }: Tus,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Creator> {
  const { requiredEnvironment, ip: address } = request
  // Not checked by a schema, it is a list of what was given.
  const { token: tokens } = request.query as { token?: string[] }
  if (tokens !== undefined) {
    // Of several it cannot be told which one is meant.
    const token = await authorizeToken(
      deps,
      limit,
      request,
      reply,
      tokens.length === 1 ? tokens[0] : 'several',
    )
    return { environment: token.environment, keyId: token.token, token, address }
  }
  try {
    const scope = await authenticator.authenticate(request.headers.authorization, requiredEnvironment)
    limit(reply, scope.keyId, 'uploads')
    return { ...scope, token: undefined, address }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) limit(reply, addressOf(request), 'uploads')
    throw error
  }
}

/** A client that sends less than this in a window is not coming through. */
const leastBytes = 1024
const windowMs = 30_000

/** Ends where the connection does: what has come until then counts. */
async function* arriving(request: IncomingMessage): AsyncGenerator<Buffer, undefined> {
  let seen = 0
  const timer = setInterval(() => {
    const received = request.socket.bytesRead
    // While we do not read, it is not the client's fault that nothing comes.
    if (received - seen < leastBytes && request.readableLength === 0) request.destroy()
    seen = received
  }, windowMs)
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) yield chunk
  } catch {
    // The connection is gone, and nobody is there to be told.
  } finally {
    clearInterval(timer)
  }
}

const passedOn = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-offset',
  'upload-concat',
  'content-type',
  'content-length',
]

function toWeb(request: FastifyRequest, method: string, body: AsyncGenerator<Buffer> | undefined): Request {
  const headers = new Headers()
  for (const name of passedOn) {
    const value = readHeader(request, name)
    // Some clients send an empty Upload-Metadata when they have none, which @tus/server takes for a malformed one.
    if (value !== undefined && value.trim() !== '') headers.set(name, value)
  }
  const path = request.url.split('?', 1)[0]
  return new Request(`http://tus${path}`, {
    method,
    headers,
    ...(body && { body: ReadableStream.from(body), duplex: 'half' as const }),
  })
}

/** An error of @tus/server itself, which has made an answer of it. */
const isOfProtocol = (error: unknown) =>
  !(error instanceof ApiError) && typeof (error as { status_code?: unknown }).status_code === 'number'

async function send(reply: FastifyReply, method: string, response: Response) {
  for (const [name, value] of response.headers) {
    if (!name.startsWith('access-control-') && name !== 'content-length') reply.header(name, value)
  }
  if (method === 'OPTIONS') reply.header('tus-checksum-algorithm', checksumAlgorithms.join(','))
  reply.code(response.status)
  if (response.status === 204 || method === 'HEAD') return reply.send()
  return reply.send(await response.text())
}
