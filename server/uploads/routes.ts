import type { Context } from '../contracts/context.ts'
import type { Environment, UploadTokenRow } from '../contracts/tables.ts'
import { notFound, unauthenticated } from '../lib/errors.ts'
import { type App, fileUpload, nullable, oneOf, ref } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { readMultipart } from '../lib/multipart.ts'
import { listResponse, Pagination, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { Video } from '../videos/schemas.ts'
import { findVideo } from '../videos/store.ts'
import { viewVideo } from '../videos/view.ts'
import { deliver, spool } from './delegated.ts'
import { readRange } from './range.ts'
import { receivePiece } from './receive.ts'
import * as store from './store.ts'
import { findTarget } from './target.ts'

export const UploadToken = Type.Object(
  {
    token: Type.String(),
    ttl: Type.Integer({ description: 'Seconds that the token is valid for; 0: for ever.' }),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: nullable(Type.String({ format: 'date-time' })),
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
})

const upload = fileUpload(
  'The file, or a piece of it.',
  {
    videoId: {
      type: 'string',
      description: 'With an upload token: the video that the piece belongs to.',
    },
  },
  {
    'Content-Range': {
      type: 'string',
      description: '`bytes a-b/total` or `part i/n`; `*` in place of a total that is not known yet.',
    },
  },
)

const uploadSchema = { tags: ['Uploads'], response: { 201: ref(Video) } }

export function uploadRoutes(app: App, context: Context): void {
  const { db } = context

  app.post(
    '/videos/:videoId/source',
    {
      config: upload,
      schema: {
        ...uploadSchema,
        operationId: 'POST_videos-videoId-source',
        summary: 'Upload a file into a video',
        description:
          'The whole file, or a piece of it with `Content-Range`. Pieces may come in any order and at once; one that is sent again as it was is answered 201 again.',
        params: Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) }),
      },
    },
    async (request, reply) => {
      const { environment } = request.scope
      const { videoId } = request.params
      const range = readRange(request.headers['content-range'])
      await findTarget(context, environment, videoId)
      await readMultipart(request.raw, ({ stream, filename }) => {
        const sender = { token: null, filename, address: request.ip }
        return receivePiece(context, videoId, range, sender, stream)
      })
      const video = await findVideo(db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video))
    },
  )

  app.post(
    '/upload-tokens',
    {
      schema: {
        operationId: 'POST_upload-tokens',
        tags: ['Upload tokens'],
        summary: 'Create an upload token',
        description: 'Whoever has the token may upload videos with it, without an API key.',
        body: Type.Object({
          ttl: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 2_147_483_647,
              default: 0,
              description: 'Seconds; 0: for ever.',
            }),
          ),
        }),
        response: { 200: ref(UploadToken) },
      },
    },
    async (request) => {
      const ttl = request.body.ttl ?? 0
      const now = context.now()
      const row = {
        token: newId('to'),
        environment: request.scope.environment,
        ttl,
        created_at: now,
        expires_at: ttl === 0 ? null : new Date(now.getTime() + ttl * 1_000),
      }
      await store.insertToken(db, row)
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

/** Open to whoever has a token; an API key that comes along is not looked at. */
export function delegatedRoutes(app: App, context: Context): void {
  app.post(
    '/upload',
    {
      config: upload,
      schema: {
        ...uploadSchema,
        operationId: 'POST_upload',
        summary: 'Upload a file with an upload token',
        description:
          'Makes a video named after the file. Later pieces name it by the field `videoId`; without it they go to the newest unfinished upload of a file of that name by the same token and address.',
        security: [],
        querystring: Type.Object({ token: Type.Optional(Type.String({ description: 'The upload token.' })) }),
      },
    },
    async (request, reply) => {
      const token = await authorise(context, request.environment, request.query.token)
      const range = readRange(request.headers['content-range'])
      const { environment } = request
      const { fields, result } = await readMultipart(request.raw, async ({ stream, filename, fields }) => {
        const sender = { token, filename, address: request.ip }
        const { videoId } = fields
        if (!videoId) return { sender, spooled: await spool(context, range, stream) }
        await findTarget(context, environment, videoId)
        await receivePiece(context, videoId, range, sender, stream)
        return { videoId }
      })
      const videoId = result.spooled
        ? await deliver(context, environment, range, result.sender, fields.videoId, result.spooled)
        : result.videoId
      const video = await findVideo(context.db, request.environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video))
    },
  )
}

async function authorise(
  { db, now }: Context,
  environment: Environment,
  token: string | undefined,
): Promise<string> {
  if (!token) throw unauthenticated('authentication-missing-upload-token')
  const row = isId('to', token) ? await store.findToken(db, token, now()) : undefined
  if (row?.environment !== environment) throw unauthenticated('authentication-invalid-upload-token')
  return token
}
