import type { Context } from '../../context.ts'
import type { Environment } from '../../environments.ts'
import { invalidAttribute, notFound } from '../../lib/errors.ts'
import { exampleId, idField, sortByField, sortOrderField, timeField } from '../../lib/fields.ts'
import { type App, nullable, ref } from '../../lib/http.ts'
import { isId, newId } from '../../lib/ids.ts'
import { listOf, listResponse, pageQuery, readPage } from '../../lib/paging.ts'
import { Type } from '../../lib/schema.ts'
import { formatTime } from '../../lib/time.ts'
import { findUploadTarget } from '../../videos/store.ts'
import { isUnreadable, isVideoMissing } from '../source/begin.ts'
import { findSource } from '../source/store.ts'
import type { UploadTokenRow } from '../tables.ts'
import * as store from './store.ts'

export const UploadToken = Type.Object(
  {
    token: idField('to', 'The token. Send it as the query parameter `token`.'),
    ttl: Type.Integer({
      description: 'Seconds for which the token is valid. 0: it does not expire.',
      examples: [3600],
    }),
    createdAt: timeField('When the token was created.'),
    expiresAt: nullable(
      timeField('When the token expires. Null if it does not expire.', '2026-11-16T10:30:00+00:00'),
    ),
    videoId: Type.Optional(idField('vi', 'The only video that the token can fill.')),
  },
  { $id: 'UploadToken', description: 'A token that allows uploads without an API key.' },
)

export const UploadTokenList = listOf(ref(UploadToken), 'UploadTokenList')

const viewToken = (row: UploadTokenRow) => ({
  token: row.token,
  ttl: row.ttl,
  createdAt: formatTime(row.created_at),
  expiresAt: row.expires_at && formatTime(row.expires_at),
  ...(row.video_id !== null && { videoId: row.video_id }),
})

const tokenParams = Type.Object({ uploadToken: idField('to', 'The token.') })
const secretParams = { secrets: ['uploadToken'] }

export function uploadTokenRoutes(app: App, context: Context): void {
  createTokenRoute(app, context)
  listTokensRoute(app, context)
  showTokenRoute(app, context)
  deleteTokenRoute(app, context)
}

function createTokenRoute(app: App, context: Context): void {
  const schema = {
    operationId: 'POST_upload-tokens',
    tags: ['Upload tokens'],
    summary: 'Create an upload token',
    description:
      'The token allows uploads without an API key. It can create new videos and fill empty ones. With `videoId`, it can only fill that video.',
    body: Type.Object(
      {
        ttl: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 2_147_483_647,
            default: 0,
            description: 'Seconds. 0: the token does not expire.',
          }),
        ),
        videoId: Type.Optional(
          Type.String({
            description:
              'A video without content, or whose file cannot be read. The token can only fill this video, and is deleted together with it.',
            examples: [exampleId('vi')],
          }),
        ),
      },
      { examples: [{ ttl: 3600 }] },
    ),
    response: { 200: ref(UploadToken) },
  }
  app.post('/upload-tokens', { schema }, async ({ body: { ttl = 0, videoId }, scope: { environment } }) => {
    if (videoId !== undefined && !(await isEmpty(context, environment, videoId))) throw notEmpty()
    const now = context.now()
    const row = {
      token: newId('to'),
      environment,
      ttl,
      created_at: now,
      expires_at: ttl === 0 ? null : new Date(now.getTime() + ttl * 1_000),
      video_id: videoId ?? null,
    }
    await store.insertToken(context.db, row).catch((error) => {
      throw isVideoMissing(error) ? notEmpty() : error
    })
    return viewToken(row)
  })
}

const notEmpty = () =>
  invalidAttribute('videoId', '"videoId" must be the id of a video of this environment without content.')

async function isEmpty({ db }: Context, environment: Environment, videoId: string): Promise<boolean> {
  const video = isId('vi', videoId) ? await findUploadTarget(db, environment, videoId) : undefined
  if (video?.source_type !== 'upload') return false
  const source = await findSource(db, videoId)
  if (!source || (source.state === 'receiving' && source.received_pieces === 0)) return true
  return isUnreadable({ db }, source)
}

function listTokensRoute(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_upload-tokens',
    tags: ['Upload tokens'],
    summary: 'List valid upload tokens',
    description: 'Expired tokens are not in the list.',
    querystring: Type.Object({
      sortBy: sortByField(['createdAt', 'ttl'], 'createdAt'),
      sortOrder: sortOrderField('desc'),
      ...pageQuery,
    }),
    response: { 200: ref(UploadTokenList) },
  }
  app.get('/upload-tokens', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
    const { tokens, total } = await read((db) =>
      store.listTokens(db, scope.environment, order, page, context.now()),
    )
    return listResponse('/upload-tokens', query, page, tokens.map(viewToken), total)
  })
}

function showTokenRoute(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'GET_upload-tokens-uploadToken',
    tags: ['Upload tokens'],
    summary: 'Show an upload token',
    description: 'An expired token is not found.',
    params: tokenParams,
    response: { 200: ref(UploadToken) },
  }
  app.get(
    '/upload-tokens/:uploadToken',
    { config: secretParams, schema },
    async ({ params: { uploadToken }, scope }) => {
      const row = isId('to', uploadToken) && (await store.findToken(db, uploadToken, now()))
      if (!row || row.environment !== scope.environment) throw notFound('uploadToken')
      return viewToken(row)
    },
  )
}

function deleteTokenRoute(app: App, { db }: Context): void {
  const schema = {
    operationId: 'DELETE_upload-tokens-uploadToken',
    tags: ['Upload tokens'],
    summary: 'Delete an upload token',
    description: 'Uploads with this token are rejected from now on.',
    params: tokenParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete(
    '/upload-tokens/:uploadToken',
    { config: secretParams, schema },
    async ({ params: { uploadToken }, scope }, reply) => {
      const isDeleted =
        isId('to', uploadToken) && (await store.deleteToken(db, scope.environment, uploadToken))
      if (!isDeleted) throw notFound('uploadToken')
      return reply.code(204).send(null)
    },
  )
}
