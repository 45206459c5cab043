import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { invalidAttribute, notFound } from '../lib/errors.ts'
import { type App, nullable, oneOf, ref } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, Pagination, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { findUploadTarget } from '../videos/store.ts'
import { findSource } from './store.ts'
import type { UploadTokenRow } from './tables.ts'
import * as store from './token-store.ts'

export const UploadToken = Type.Object(
  {
    token: Type.String(),
    ttl: Type.Integer({ description: 'Seconds that the token is valid for; 0: for ever.' }),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
    videoId: Type.Optional(Type.String({ description: 'The only video that the token may fill.' })),
  },
  { $id: 'UploadToken' },
)

export const UploadTokenList = Type.Object(
  { data: Type.Array(ref(UploadToken)), pagination: ref(Pagination) },
  { $id: 'UploadTokenList' },
)

const viewToken = (row: UploadTokenRow) => ({
  token: row.token,
  ttl: row.ttl,
  createdAt: atom(row.created_at),
  expiresAt: row.expires_at && atom(row.expires_at),
  ...(row.video_id !== null && { videoId: row.video_id }),
})

const notEmpty = () =>
  invalidAttribute('videoId', '"videoId" must be the id of a video of this environment without content.')

async function isEmpty({ db }: Context, environment: Environment, videoId: string): Promise<boolean> {
  const video = isId('vi', videoId) ? await findUploadTarget(db, environment, videoId) : undefined
  if (video?.source_type !== 'upload') return false
  const source = await findSource(db, videoId)
  return !source || (source.state === 'receiving' && source.received_pieces === 0)
}

export function uploadTokenRoutes(app: App, context: Context): void {
  const { db } = context

  app.post(
    '/upload-tokens',
    {
      schema: {
        operationId: 'POST_upload-tokens',
        tags: ['Upload tokens'],
        summary: 'Create an upload token',
        description:
          'Whoever has the token may upload videos with it, without an API key: new ones, or with `videoId` the content of that video and nothing else.',
        body: Type.Object({
          ttl: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 2_147_483_647,
              default: 0,
              description: 'Seconds; 0: for ever.',
            }),
          ),
          videoId: Type.Optional(
            Type.String({
              description:
                'A video without content. It becomes the only one that the token may fill, and the token is deleted with it.',
            }),
          ),
        }),
        response: { 200: ref(UploadToken) },
      },
    },
    async ({ body: { ttl = 0, videoId }, scope: { environment } }) => {
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
      await store.insertToken(db, row).catch((error) => {
        // Deleted meanwhile.
        throw error.code === '23503' ? notEmpty() : error
      })
      return viewToken(row)
    },
  )

  app.get(
    '/upload-tokens',
    {
      schema: {
        operationId: 'GET_upload-tokens',
        tags: ['Upload tokens'],
        summary: 'List upload tokens that are valid',
        querystring: Type.Object({
          sortBy: Type.Optional(oneOf(['createdAt', 'ttl'], { default: 'createdAt' })),
          sortOrder: Type.Optional(oneOf(['asc', 'desc'], { default: 'desc' })),
          ...pageQuery,
        }),
        response: { 200: ref(UploadTokenList) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
      const { tokens, total } = await store.listTokens(db, scope.environment, order, page, context.now())
      return listResponse('/upload-tokens', query, page, tokens.map(viewToken), total)
    },
  )

  const tokenParams = Type.Object({ uploadToken: Type.String({ description: 'The token.' }) })

  app.get(
    '/upload-tokens/:uploadToken',
    {
      schema: {
        operationId: 'GET_upload-tokens-uploadToken',
        tags: ['Upload tokens'],
        summary: 'Show an upload token',
        params: tokenParams,
        response: { 200: ref(UploadToken) },
      },
    },
    async ({ params, scope }) => {
      const row =
        isId('to', params.uploadToken) && (await store.findToken(db, params.uploadToken, context.now()))
      if (!row || row.environment !== scope.environment) throw notFound('uploadToken')
      return viewToken(row)
    },
  )

  app.delete(
    '/upload-tokens/:uploadToken',
    {
      schema: {
        operationId: 'DELETE_upload-tokens-uploadToken',
        tags: ['Upload tokens'],
        summary: 'Delete an upload token',
        params: tokenParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async ({ params, scope }, reply) => {
      const { uploadToken } = params
      const isDeleted =
        isId('to', uploadToken) && (await store.deleteToken(db, scope.environment, uploadToken))
      if (!isDeleted) throw notFound('uploadToken')
      return reply.code(204).send(null)
    },
  )
}
