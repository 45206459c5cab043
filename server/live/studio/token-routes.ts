import { hashSecret } from '../../accounts/keys.ts'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environments.ts'
import { notFound } from '../../lib/errors.ts'
import { exampleSecret, idField, timeField } from '../../lib/fields.ts'
import { type App, ref } from '../../lib/http.ts'
import { isId, newId, randomWord } from '../../lib/ids.ts'
import { listOf, listResponse, pageQuery, readPage } from '../../lib/paging.ts'
import { Type } from '../../lib/schema.ts'
import { formatTime } from '../../lib/time.ts'
import { checkLiveStreamId, liveStreamParams } from '../../live-streams/ids.ts'
import { livePath } from '../../live-streams/paths.ts'
import { findLiveStream } from '../../live-streams/store.ts'
import type { StudioTokenRow } from '../tables.ts'
import * as store from './store.ts'

const prefix = 'st'
const listed = {
  studioTokenId: idField(prefix, 'Id of the token.'),
  createdAt: timeField('When the token was created.'),
  expiresAt: timeField(
    'When the page can no longer be opened with it. Once it is opened, until when its visitor can broadcast.',
  ),
  isOpened: Type.Boolean({ description: 'Whether somebody has opened the page with it.', examples: [false] }),
}

export const StudioToken = Type.Object(listed, {
  $id: 'StudioToken',
  description: 'Allows one person to broadcast to a live stream from a browser.',
})

export const StudioTokenList = listOf(ref(StudioToken), 'StudioTokenList')

export const NewStudioToken = Type.Object(
  {
    ...listed,
    token: Type.String({ description: 'The token. It is not shown again.', examples: [exampleSecret] }),
    url: Type.String({
      description: 'The page from which its first visitor can broadcast.',
      examples: [`https://video.example.com/live/li4blUQJFrYWbaG44NCChkH27/studio?token=${exampleSecret}`],
    }),
  },
  { $id: 'NewStudioToken', description: 'A studio token with its secret.' },
)

const tags = ['Live streams']
const path = '/live-streams/:liveStreamId/studio-tokens'
const defaultTtl = 3_600
const maxTtl = 30 * 86_400

/** Tokens for the page from which a browser broadcasts. */
export function studioTokenRoutes(app: App, context: Context): void {
  createRoute(app, context)
  listRoute(app, context)
  deleteRoutes(app, context)
}

const viewToken = ({ id, created_at, expires_at, session_hash }: Omit<StudioTokenRow, 'token_hash'>) => ({
  studioTokenId: id,
  createdAt: formatTime(created_at),
  expiresAt: formatTime(expires_at),
  isOpened: session_hash !== null,
})

async function findId(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  liveStreamId: string,
): Promise<string> {
  const id = checkLiveStreamId(liveStreamId)
  if (!(await findLiveStream(db, environment, id))) throw notFound('liveStreamId')
  return id
}

function createRoute(app: App, { db, now, publicUrl }: Context): void {
  const schema = {
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
    response: { 201: ref(NewStudioToken) },
  }
  app.post(path, { schema }, async ({ params, body, scope }, reply) => {
    const id = await findId({ db }, scope.environment, params.liveStreamId)
    const token = randomWord(32)
    const createdAt = now()
    const row = {
      id: newId(prefix),
      token_hash: hashSecret(token),
      live_stream_id: id,
      session_hash: null,
      created_at: createdAt,
      expires_at: new Date(createdAt.getTime() + 1000 * (body?.ttl ?? defaultTtl)),
    }
    await store.insertToken(db, row)
    const url = `${publicUrl()}${livePath(id)}/studio?token=${token}`
    return reply.code(201).send({ ...viewToken(row), token, url })
  })
}

function listRoute(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'GET_live-streams-liveStreamId-studio-tokens',
    tags,
    summary: 'List valid studio tokens',
    description:
      'Whoever has one of these tokens, or has opened the page with it, can broadcast. The newest come first. Expired tokens are not in the list.',
    params: liveStreamParams,
    querystring: Type.Object(pageQuery),
    response: { 200: ref(StudioTokenList) },
  }
  app.get(path, { schema }, async ({ params, query, read, scope }) => {
    const id = await findId({ db }, scope.environment, params.liveStreamId)
    const page = readPage(query)
    const { tokens, total } = await read((pool) => store.listTokens(pool, id, page, now()))
    return listResponse(path.replace(':liveStreamId', id), query, page, tokens.map(viewToken), total)
  })
}

function deleteRoutes(app: App, { db }: Context): void {
  const schema = {
    tags,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
    description: 'Pages that are open can no longer connect. A broadcast in progress continues.',
  }
  const oneSchema = {
    ...schema,
    operationId: 'DELETE_live-streams-liveStreamId-studio-tokens-studioTokenId',
    summary: 'Delete a studio token',
    params: Type.Object({
      ...liveStreamParams.properties,
      studioTokenId: idField(prefix, 'Id of the token.'),
    }),
  }
  app.delete(`${path}/:studioTokenId`, { schema: oneSchema }, async ({ params, scope }, reply) => {
    const { studioTokenId } = params
    const id = await findId({ db }, scope.environment, params.liveStreamId)
    const isDeleted = isId(prefix, studioTokenId) && (await store.deleteToken(db, id, studioTokenId))
    if (!isDeleted) throw notFound('studioTokenId')
    return reply.code(204).send(null)
  })

  const allSchema = {
    ...schema,
    operationId: 'DELETE_live-streams-liveStreamId-studio-tokens',
    summary: 'Delete all studio tokens',
    params: liveStreamParams,
  }
  app.delete(path, { schema: allSchema }, async ({ params, scope }, reply) => {
    await store.deleteTokens(db, await findId({ db }, scope.environment, params.liveStreamId))
    return reply.code(204).send(null)
  })
}
