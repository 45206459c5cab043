import type { IncomingMessage } from 'node:http'
import { Server } from '@tus/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Authenticator, isAdmitted } from '../accounts/authenticate.ts'
import type { Context } from '../contracts/context.ts'
import { ApiError, unauthenticated } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import * as store from './store.ts'
import { type Creator, createUpload, findUpload, removeUpload, uploadId } from './tus-create.ts'
import { TusDataStore, type TusRequest } from './tus-datastore.ts'
import { createLock, createPeek, type Running } from './tus-lock.ts'
import { TusProblem } from './tus-problem.ts'
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
    'location, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, x-video-id, x-request-id, retry-after',
  preflightContinue: true,
}

/** tus 1.0 (https://tus.io/protocols/resumable-upload), for the many clients that speak it. */
export function tusRoutes(app: App, context: Context, authenticator: Authenticator): void {
  const running: Running = new Map()
  // All is done before the body is touched: what comes after that is made for small bodies.
  const onRequest = (request: FastifyRequest, reply: FastifyReply) =>
    answer(context, authenticator, running, request, reply)
  const common = { config: { cors }, schema: { hide: true }, onRequest, handler() {} }
  app.route({ method: ['POST', 'OPTIONS'], url: '/tus', ...common })
  app.route({ method: ['HEAD', 'PATCH', 'DELETE', 'POST', 'OPTIONS'], url: '/tus/:uploadId', ...common })
}

async function answer(
  context: Context,
  authenticator: Authenticator,
  running: Running,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  reply.header('tus-resumable', version)
  const method = methodOf(request)
  try {
    checkHeaders(request, method)
    const { uploadId: id } = request.params as { uploadId?: string }
    const { requiredEnvironment } = request
    const tus: TusRequest = {
      videoId: id === undefined || method === 'OPTIONS' ? '' : await videoOf(context, request, id),
      holder: '',
      checksum: readChecksum(readHeader(request, 'upload-checksum')),
    }
    const creator =
      id === undefined && method === 'POST' && (await authorise(context, authenticator, request))
    let failure: unknown
    const server = new Server({
      path: '/tus',
      datastore: new TusDataStore(context, tus),
      maxSize: mostBytes,
      disableTerminationForFinishedUploads: true,
      // From when somebody else asks for the upload until the request is ended, with what has come by then.
      lockDrainTimeout: 200,
      locker: {
        newLock() {
          if (method === 'HEAD') return createPeek(context, tus.videoId, running)
          const lock = createLock(context, tus.videoId, running)
          tus.holder = lock.holder
          return lock
        },
      },
      async namingFunction(created) {
        if (!creator) throw new TusProblem(404, 'There is no such upload.')
        const length = created.headers.get('upload-length')
        const metadata = created.headers.get('upload-metadata')
        const source = await createUpload(context, creator, metadata, length === null ? null : Number(length))
        tus.videoId = source.video_id
        return uploadId(source)
      },
      generateUrl: (_request, { id }) =>
        `${context.publicUrl}${requiredEnvironment === 'sandbox' ? '/sandbox' : ''}/tus/${id}`,
      onResponseError(_request, error) {
        failure = error
        return isOfProtocol(error) ? undefined : { status_code: 500, body: '' }
      },
    })
    const body = takesBody(request, method) ? arriving(request.raw) : undefined
    const response = await server.handleWeb(toWeb(request, method, body)).finally(() => {
      // What the client still sends is read and thrown away, so that it gets to read the answer.
      void body?.return(undefined).then(() => request.raw.resume())
    })
    // Without the answer nobody knows the address of the upload: nobody would ever go on with it.
    const isLost = failure !== undefined || (body && request.raw.destroyed && !request.raw.complete)
    if (creator && tus.videoId && isLost) await removeUpload(context, tus.videoId)
    if (failure !== undefined && !isOfProtocol(failure)) throw failure
    if (tus.videoId) reply.header('x-video-id', tus.videoId)
    return await send(reply, method, response)
  } catch (error) {
    if (!(error instanceof TusProblem)) throw error
    if (error.status_code === 412) reply.header('tus-version', version)
    return reply.code(error.status_code).type('text/plain').send(error.body)
  }
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
function checkHeaders(request: FastifyRequest, method: string): void {
  if (method === 'OPTIONS') return
  if (request.headers['tus-resumable'] !== version)
    throw new TusProblem(412, `Tus-Resumable must be ${version}.`)
  const { uploadId } = request.params as { uploadId?: string }
  const isCreation = uploadId === undefined
  if (isCreation ? method !== 'POST' : method === 'POST')
    throw new TusProblem(405, 'This address does not take that method.')
  if (method === 'PATCH' && readHeader(request, 'content-type') !== contentType)
    throw new TusProblem(415, `Content-Type must be ${contentType}.`)
  const length = readHeader(request, 'upload-length')
  if (Number(length ?? 0) > mostBytes) throw new TusProblem(413, 'No file is as long as Upload-Length tells.')
  const bodyLength = Number(request.headers['content-length'] ?? 0)
  if (isCreation && takesBody(request, method) && length !== undefined && bodyLength > Number(length))
    throw new TusProblem(413, 'The body is longer than Upload-Length tells.')
}

const takesBody = (request: FastifyRequest, method: string) =>
  (method === 'PATCH' || method === 'POST') && readHeader(request, 'content-type') === contentType

async function videoOf(context: Context, request: FastifyRequest, id: string): Promise<string> {
  return (await findUpload(context, request.requiredEnvironment, id)).video_id
}

/** As /upload for whoever has a token, and as /videos/{id}/source for whoever has a key. */
async function authorise(
  { db, now }: Context,
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Creator> {
  const { requiredEnvironment, ip: address } = request
  // Not checked by a schema, it is a list of what was given.
  const { token: tokens } = request.query as { token?: string[] }
  if (tokens === undefined) {
    const scope = await authenticator.authenticate(request.headers.authorization, requiredEnvironment)
    return { ...scope, address }
  }
  const [token = '', ...more] = tokens
  const isOne = more.length === 0 && isId('to', token)
  const row = isOne ? await store.findToken(db, token, now()) : undefined
  if (!row || !isAdmitted(row.environment, requiredEnvironment))
    throw unauthenticated('authentication-invalid-upload-token')
  return { environment: row.environment, keyId: row.token, address }
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
    if (value !== undefined) headers.set(name, value)
  }
  const path = request.url.split('?', 1)[0]
  return new Request(`http://tus${path}`, {
    method,
    headers,
    ...(body && { body: ReadableStream.from(body), duplex: 'half' as const }),
  })
}

/** An error that @tus/server has made an answer of already; ours are answered as everywhere. */
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
