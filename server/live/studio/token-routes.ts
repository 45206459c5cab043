import { hashSecret } from '../../accounts/keys.ts'
import type { Context } from '../../context.ts'
import { notFound } from '../../lib/errors.ts'
import { exampleSecret, timeField } from '../../lib/fields.ts'
import { type App, ref } from '../../lib/http.ts'
import { randomWord } from '../../lib/ids.ts'
import { Type } from '../../lib/schema.ts'
import { formatTime } from '../../lib/time.ts'
import { checkLiveStreamId, liveStreamParams } from '../../live-streams/ids.ts'
import { livePath } from '../../live-streams/paths.ts'
import { findLiveStream } from '../../live-streams/store.ts'
import * as store from './store.ts'

export const StudioToken = Type.Object(
  {
    token: Type.String({ description: 'The token. It is not shown again.', examples: [exampleSecret] }),
    url: Type.String({
      description: 'The page from which its first visitor can broadcast.',
      examples: [`https://video.example.com/live/li4blUQJFrYWbaG44NCChkH27/studio?token=${exampleSecret}`],
    }),
    expiresAt: timeField('When the page can no longer be opened with it.'),
  },
  { $id: 'StudioToken', description: 'Allows one person to broadcast to a live stream from a browser.' },
)

const tags = ['Live streams']
const path = '/live-streams/:liveStreamId/studio-tokens'
const defaultTtl = 3_600
const maxTtl = 30 * 86_400

/** Tokens for the page from which a browser broadcasts. */
export function studioTokenRoutes(app: App, { db, now, publicUrl }: Context): void {
  const createSchema = {
    operationId: 'POST_live-streams-liveStreamId-studio-tokens',
    tags,
    summary: 'Create a studio token',
    description:
      'The token opens the page `url` once. Whoever opens it first can broadcast to this live stream from the browser for 12 hours, and end the broadcast. The token gives access to nothing else.',
    params: liveStreamParams,
    body: Type.Object(
      {
        ttl: Type.Optional(
          Type.Integer({
            minimum: 60,
            maximum: maxTtl,
            default: defaultTtl,
            description: 'The seconds within which the page has to be opened.',
          }),
        ),
      },
      { examples: [{ ttl: defaultTtl }] },
    ),
    response: { 201: ref(StudioToken) },
  }
  app.post(path, { schema: createSchema }, async ({ params, body, scope }, reply) => {
    const id = checkLiveStreamId(params.liveStreamId)
    if (!(await findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
    const token = randomWord(32)
    const createdAt = now()
    const expiresAt = new Date(createdAt.getTime() + 1000 * (body?.ttl ?? defaultTtl))
    await store.insertToken(db, {
      token_hash: hashSecret(token),
      live_stream_id: id,
      session_hash: null,
      created_at: createdAt,
      expires_at: expiresAt,
    })
    const url = `${publicUrl()}${livePath(id)}/studio?token=${token}`
    return reply.code(201).send({ token, url, expiresAt: formatTime(expiresAt) })
  })

  const deleteSchema = {
    operationId: 'DELETE_live-streams-liveStreamId-studio-tokens',
    tags,
    summary: 'Delete all studio tokens',
    description: 'Pages that are open can no longer connect. A broadcast in progress continues.',
    params: liveStreamParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete(path, { schema: deleteSchema }, async ({ params, scope }, reply) => {
    const id = checkLiveStreamId(params.liveStreamId)
    if (!(await findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
    await store.deleteTokens(db, id)
    return reply.code(204).send(null)
  })
}
