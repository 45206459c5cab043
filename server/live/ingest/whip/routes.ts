import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../../../accounts/keys.ts'
import type { Context } from '../../../context.ts'
import { ApiError, httpErrors, notFound, unauthenticated } from '../../../lib/errors.ts'
import type { App } from '../../../lib/http.ts'
import { readBody } from '../../../lib/read-body.ts'
import { findByStreamKey } from '../../../live-streams/store.ts'
import { findBySession } from '../../studio/store.ts'
import { SdpError } from '../../webrtc/sdp.ts'
import { whipErrors } from './errors.ts'
import type { WhipGateway } from './gateway.ts'

const maxOfferBytes = 64 * 1024
const sdpType = 'application/sdp'
/** The only version of a session: its ICE is not restarted. */
const entityTag = '"1"'
const hidden = { schema: { hide: true } } as const
const resource = { config: { secrets: ['sessionId'] }, ...hidden }

/** WHIP (RFC 9725): the URL for encoders that have the stream key. */
export async function whipRoutes(
  app: App,
  { config, db, now }: Pick<Context, 'config' | 'db' | 'now'>,
  gateway: WhipGateway,
): Promise<void> {
  await app.register(async (scope) => {
    // Offers are text, whatever type they have.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', async (_request: FastifyRequest, body: FastifyRequest['raw']) =>
      (await readBody(body, { maxBytes: maxOfferBytes, withinMs: config.bodyMs })).toString(),
    )

    scope.post('/whip', hidden, async (request, reply) => {
      const key = bearerOf(request)
      const stream =
        key && ((await findByStreamKey(db, key)) ?? (await findBySession(db, hashSecret(key), now())))
      if (!stream) throw unauthenticated(whipErrors.unknownStreamKey)
      return accept(gateway, stream.stream_key, request, reply)
    })

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
    if (answer === 'none') throw new ApiError(whipErrors.unavailable)
    if (answer === 'busy')
      throw new ApiError(httpErrors.serviceUnavailable, { title: 'Too many encoders are connecting.' })
    return reply
      .code(201)
      .headers({
        location: `/whip/${answer.sessionId}`,
        etag: entityTag,
        'content-type': sdpType,
        'access-control-expose-headers': 'location, etag',
      })
      .send(answer.sdp)
  } catch (error) {
    if (error instanceof SdpError) throw new ApiError(whipErrors.invalidOffer, { title: error.message })
    throw error
  }
}
