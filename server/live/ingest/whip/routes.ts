import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../../../accounts/keys.ts'
import type { Context } from '../../../context.ts'
import { ApiError, httpErrors, notFound, unauthenticated } from '../../../lib/errors.ts'
import type { App } from '../../../lib/http.ts'
import { readBody } from '../../../lib/read-body.ts'
import { Type } from '../../../lib/schema.ts'
import { checkLiveStreamId, liveStreamParams } from '../../../live-streams/ids.ts'
import { findByStreamKey, findLiveStream } from '../../../live-streams/store.ts'
import { findBySession } from '../../studio/store.ts'
import { SdpError } from '../../webrtc/sdp.ts'
import { whipErrors } from './errors.ts'
import type { WhipGateway } from './gateway.ts'

const maxOfferBytes = 64 * 1024
const sdpType = 'application/sdp'
/** What PATCH sends. */
const candidatesType = 'application/trickle-ice-sdpfrag'
/** The only version of a session: its ICE is not restarted. */
const entityTag = '"1"'
/** For encoders in browsers. */
const cors = {
  methods: ['POST', 'PATCH', 'DELETE', 'OPTIONS'],
  allowedHeaders: 'authorization, content-type, if-match',
  exposedHeaders: 'location, etag, x-request-id',
  preflightContinue: true,
}
const schema = { hide: true }
const hidden = { config: { cors }, schema }
const resource = { config: { cors, secrets: ['sessionId'] }, schema }

function readText(app: App, withinMs: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [sdpType, candidatesType],
    async (_request: FastifyRequest, body: FastifyRequest['raw']) =>
      (await readBody(body, { maxBytes: maxOfferBytes, withinMs })).toString(),
  )
  app.addContentTypeParser('*', async () => {
    throw new ApiError(whipErrors.wrongType)
  })
}

const description = {
  consumes: [sdpType],
  body: { type: 'string', description: 'The offer: a session description of WebRTC.', examples: ['v=0'] },
}

/** WHIP for programs that have an API key. */
export function whipApiRoutes(
  app: App,
  { config, db }: Pick<Context, 'config' | 'db'>,
  gateway: WhipGateway,
): void {
  const schema = {
    operationId: 'POST_live-streams-liveStreamId-whip',
    tags: ['Live streams'],
    summary: 'Broadcast over WebRTC (WHIP)',
    description:
      'Takes the offer of an encoder and returns the answer (RFC 9725). The header `Location` has the URL that ends the session with DELETE. Encoders without an API key send the stream key to `/whip`.',
    params: liveStreamParams,
    response: {
      201: {
        description: 'The answer.',
        content: { [sdpType]: { schema: Type.Unsafe<string>({ type: 'string', examples: ['v=0'] }) } },
      },
    },
  }
  void app.register(async (scope) => {
    readText(scope as App, config.bodyMs)
    ;(scope as App).post(
      '/live-streams/:liveStreamId/whip',
      { config: { cors, described: description }, schema },
      async (request, reply) => {
        const id = checkLiveStreamId(request.params.liveStreamId)
        const stream = await findLiveStream(db, request.scope.environment, id)
        if (!stream) throw notFound('liveStreamId')
        return accept(
          gateway,
          stream.stream_key,
          request as FastifyRequest,
          reply as unknown as FastifyReply,
        ) as never
      },
    )
  })
}

/** WHIP (RFC 9725): the URL for encoders that have the stream key. */
export async function whipRoutes(
  app: App,
  { config, db, now }: Pick<Context, 'config' | 'db' | 'now'>,
  gateway: WhipGateway,
): Promise<void> {
  await app.register(async (scope) => {
    readText(scope as App, config.bodyMs)

    scope.post('/whip', hidden, async (request, reply) => {
      const key = bearerOf(request)
      const stream =
        key && ((await findByStreamKey(db, key)) ?? (await findBySession(db, hashSecret(key), now())))
      if (!stream) throw unauthenticated(whipErrors.unknownStreamKey)
      return accept(gateway, stream.stream_key, request, reply)
    })

    scope.options('/whip', hidden, (_request, reply) => reply.code(204).header('accept-post', sdpType).send())
    scope.options('/whip/:sessionId', resource, (_request, reply) => reply.code(204).send())

    scope.delete<{ Params: { sessionId: string } }>('/whip/:sessionId', resource, async (request, reply) => {
      if (!(await gateway.end(request.params.sessionId))) throw notFound('sessionId')
      return reply.code(200).send()
    })

    // Candidates of the encoder are not needed, because we only answer. So this accepts them.
    scope.patch<{ Params: { sessionId: string } }>('/whip/:sessionId', resource, async (request, reply) => {
      if (!(await gateway.has(request.params.sessionId))) throw notFound('sessionId')
      if (request.headers['if-match'] === '*') throw new ApiError(whipErrors.noIceRestart)
      return reply.code(204).send()
    })
  })
}

const refusals = {
  unauthorized: whipErrors.unknownStreamKey,
  occupied: whipErrors.occupied,
  closing: httpErrors.serviceUnavailable,
}

function bearerOf(request: FastifyRequest): string | undefined {
  const [, key] = /^Bearer +(\S{1,200})$/i.exec(request.headers.authorization ?? '') ?? []
  return key
}

async function accept(
  gateway: WhipGateway,
  streamKey: string,
  { body }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  try {
    const answer = await gateway.offer(streamKey, typeof body === 'string' ? body : '')
    if (!answer) throw new ApiError(whipErrors.unavailable)
    if ('refused' in answer) throw new ApiError(refusals[answer.kind], { title: answer.refused })
    return reply
      .code(201)
      .headers({
        location: `/whip/${answer.sessionId}`,
        etag: entityTag,
        'content-type': sdpType,
      })
      .send(answer.sdp)
  } catch (error) {
    if (error instanceof SdpError) throw new ApiError(whipErrors.invalidOffer, { title: error.message })
    throw error
  }
}
