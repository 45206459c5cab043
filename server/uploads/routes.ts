import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import type { Limit } from '../lib/limit-requests.ts'
import { readMultipart } from '../lib/multipart.ts'
import { Type } from '../lib/schema.ts'
import { Video } from '../videos/schemas.ts'
import { findVideo } from '../videos/store.ts'
import { viewVideo } from '../videos/view.ts'
import { authorizeToken } from './authorize.ts'
import type { Contention } from './contention.ts'
import { deliver, senderOf, spool } from './delegated.ts'
import { readRange } from './range.ts'
import { type Deps, receivePiece } from './receive.ts'
import { checkTarget, targetOf } from './target.ts'

/** What all ways of uploading share within a process. */
export type Shared = { contention: Contention; limit: Limit }

export const depsOf = ({ db, files, queue, now, log }: Context, { contention }: Shared): Deps => ({
  db,
  files,
  queue,
  now,
  log,
  contention,
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

export function uploadRoutes(app: App, context: Context, shared: Shared): void {
  const deps = depsOf(context, shared)

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
      const { environment, keyId } = request.scope
      const { videoId } = request.params
      const range = readRange(request.headers['content-range'])
      await checkTarget(deps, environment, videoId, undefined)
      await readMultipart(request.raw, ({ stream, filename }) => {
        const sender = { created_by: keyId, token: null, filename, address: request.ip }
        return receivePiece(deps, videoId, range, sender, stream)
      })
      const video = await findVideo(deps.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video))
    },
  )
}

/** Open to whoever has a token; an API key that comes along is not looked at. */
export function delegatedRoutes(app: App, context: Context, shared: Shared): void {
  const deps = depsOf(context, shared)

  app.post(
    '/upload',
    {
      config: upload,
      schema: {
        ...uploadSchema,
        operationId: 'POST_upload',
        summary: 'Upload a file with an upload token',
        description:
          'Makes a video named after the file, or fills the one that the token is bound to. Later pieces name it by the field `videoId`; without it they go to the newest unfinished upload of a file of that name by the same token and address. A token cannot fill videos that it has not created and is not bound to.',
        security: [{ uploadToken: [] }],
        querystring: Type.Object({ token: Type.Optional(Type.String({ description: 'The upload token.' })) }),
      },
    },
    async (request, reply) => {
      const token = await authorizeToken(deps, shared.limit, request, reply, request.query.token)
      const range = readRange(request.headers['content-range'])
      const { environment } = token
      const address = request.ip
      const { fields, result } = await readMultipart(request.raw, async ({ stream, filename, fields }) => {
        const uploader = { token, filename, address }
        if (!fields.videoId) return { uploader, spooled: await spool(deps, range, stream) }
        const videoId = targetOf(token, fields.videoId)!
        await checkTarget(deps, environment, videoId, token)
        await receivePiece(deps, videoId, range, senderOf(uploader), stream)
        return { videoId }
      })
      const videoId = result.spooled
        ? await deliver(deps, result.uploader, range, fields.videoId, result.spooled)
        : result.videoId
      const video = await findVideo(deps.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video, { mayWatch: false }))
    },
  )
}
