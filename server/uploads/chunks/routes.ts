import type { Context } from '../../context.ts'
import { notFound } from '../../lib/errors.ts'
import { exampleId, idField } from '../../lib/fields.ts'
import { type App, fileUpload, ref } from '../../lib/http.ts'
import { readMultipart } from '../../lib/multipart.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'
import { Type } from '../../lib/schema.ts'
import { Video } from '../../videos/schemas.ts'
import { findVideo } from '../../videos/store.ts'
import { viewVideo } from '../../videos/view.ts'
import type { UploadCoordinator } from '../source/coordinator.ts'
import { readRange } from '../source/range.ts'
import { authorizeToken } from '../tokens/authorize.ts'
import { checkTarget, targetOf } from '../tokens/target.ts'
import { assignChunk, originOf, spoolChunk } from './delegated.ts'
import { type Deps, receiveChunk } from './receive.ts'
import { waitForSize } from './wait-for-size.ts'

/** Shared by all upload routes of a process. */
export type UploadServices = { coordinator: UploadCoordinator; limit: RateLimit }

export const depsOf = ({ db, files, queue, now, log }: Context, { coordinator }: UploadServices): Deps => ({
  db,
  files,
  queue,
  now,
  log,
  coordinator,
})

const upload = fileUpload(
  'The file, or a chunk of it.',
  'video.mp4',
  {
    videoId: {
      type: 'string',
      description: 'With an upload token: the video that the file or chunk belongs to.',
      examples: [exampleId('vi')],
    },
  },
  {
    'Content-Range': {
      type: 'string',
      description: '`bytes a-b/total` or `part i/n`. Use `*` while the total is unknown.',
      examples: ['bytes 0-5242879/20971520'],
    },
  },
)

const uploadSchema = { tags: ['Uploads'], response: { 201: ref(Video) } }

export function uploadRoutes(app: App, context: Context, services: UploadServices): void {
  const deps = depsOf(context, services)

  app.post(
    '/videos/:videoId/source',
    {
      config: upload,
      schema: {
        ...uploadSchema,
        operationId: 'POST_videos-videoId-source',
        summary: 'Upload a file into a video',
        description:
          'Send the entire file, or a chunk of it with `Content-Range`. Chunks can be sent in any order and in parallel. A chunk that is sent again unchanged is answered with 201 again.',
        params: Type.Object({ videoId: idField('vi', 'Id of the video.') }),
      },
    },
    async (request, reply) => {
      const { environment, keyId } = request.scope
      const { videoId } = request.params
      const range = readRange(request.headers['content-range'])
      await checkTarget(deps, environment, videoId, undefined)
      await readMultipart(request.raw, ({ stream, filename }) => {
        const origin = { created_by: keyId, token: null, filename, address: request.ip }
        return receiveChunk(deps, videoId, range, origin, stream)
      })
      await waitForSize(deps.db, videoId)
      const video = await findVideo(deps.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video))
    },
  )
}

/** Requires an upload token. An API key in the request is ignored. */
export function delegatedRoutes(app: App, context: Context, services: UploadServices): void {
  const deps = depsOf(context, services)

  app.post(
    '/upload',
    {
      config: { ...upload, secrets: ['token'] },
      schema: {
        ...uploadSchema,
        operationId: 'POST_upload',
        summary: 'Upload a file with an upload token',
        description:
          'Creates a video with the name of the file, or fills the video in the field `videoId` or the one that the token is bound to. Later chunks name the video in the field `videoId`. Without it, they are added to the newest unfinished upload of a file with that name from the same token and IP address. A token can only fill the video that it is bound to, or videos that it has created, or videos of its environment that have never had a source or an upload.',
        security: [{ uploadToken: [] }],
        querystring: Type.Object({ token: Type.Optional(idField('to', 'The upload token.')) }),
      },
    },
    async (request, reply) => {
      const authorization = { ...deps, rateLimit: services.limit }
      const token = await authorizeToken(authorization, request, reply, request.query.token)
      const range = readRange(request.headers['content-range'])
      const { environment } = token
      const address = request.ip
      const { fields, result } = await readMultipart(request.raw, async ({ stream, filename, fields }) => {
        const uploader = { token, filename, address }
        if (!fields.videoId) return { uploader, spooled: await spoolChunk(deps, range, stream) }
        const videoId = targetOf(token, fields.videoId)!
        await checkTarget(deps, environment, videoId, token)
        await receiveChunk(deps, videoId, range, originOf(uploader), stream)
        return { videoId }
      })
      const videoId = result.spooled
        ? await assignChunk(deps, result.uploader, range, fields.videoId, result.spooled)
        : result.videoId
      await waitForSize(deps.db, videoId)
      const video = await findVideo(deps.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video, { mayWatch: false }))
    },
  )
}
