import { setTimeout } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { Db } from '../../lib/db.ts'
import { notFound } from '../../lib/errors.ts'
import { exampleId, idField } from '../../lib/fields.ts'
import { type App, fileUpload, ref } from '../../lib/http.ts'
import { readMultipart } from '../../lib/multipart.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'
import { Type } from '../../lib/schema.ts'
import type { Tables } from '../../tables.ts'
import { Video } from '../../videos/schemas.ts'
import { findVideo } from '../../videos/store.ts'
import { viewVideo } from '../../videos/view.ts'
import type { UploadContext } from '../source/coordinator.ts'
import { readRange } from '../source/range.ts'
import { isBeingExamined } from '../source/store.ts'
import { authorizeToken } from '../tokens/authorize.ts'
import { checkTarget, targetOf } from '../tokens/target.ts'
import { assignChunk, originOf, spoolChunk } from './delegated.ts'
import { receiveChunk } from './receive.ts'

type RouteContext = Context & UploadContext & { limit: RateLimit }

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

export function uploadRoutes(app: App, context: RouteContext): void {
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
      await checkTarget(context, environment, videoId, undefined)
      await readMultipart(request.raw, ({ stream, filename }) => {
        const origin = { created_by: keyId, token: null, filename: cleanName(filename), address: request.ip }
        return receiveChunk(context, videoId, range, origin, stream)
      })
      await waitForSize(context.db, videoId)
      const video = await findVideo(context.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video))
    },
  )
}

/** Requires an upload token. An API key in the request is ignored. */
export function delegatedRoutes(app: App, context: RouteContext): void {
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
      const authorization = { ...context, rateLimit: context.limit }
      const token = await authorizeToken(authorization, request, reply, request.query.token)
      const range = readRange(request.headers['content-range'])
      const { environment } = token
      const address = request.ip
      const { fields, result } = await readMultipart(request.raw, async ({ stream, filename, fields }) => {
        const uploader = { token, filename: cleanName(filename), address }
        if (!fields.videoId) return { uploader, spooled: await spoolChunk(context, range, stream) }
        const videoId = targetOf(token, fields.videoId)!
        await checkTarget(context, environment, videoId, token)
        await receiveChunk(context, videoId, range, originOf(uploader), stream)
        return { videoId }
      })
      const videoId = result.spooled
        ? await assignChunk(context, result.uploader, range, fields.videoId, result.spooled)
        : result.videoId
      await waitForSize(context.db, videoId)
      const video = await findVideo(context.db, environment, videoId)
      if (!video) throw notFound('videoId')
      return reply.code(201).send(viewVideo(context, video, { mayWatch: false }))
    },
  )
}

/** The name becomes the title of a video, so it must be storable text of limited length. */
function cleanName(filename = ''): string {
  const text = filename.toWellFormed().replaceAll('\0', '')
  return [...text].slice(0, 255).join('') || 'file'
}

/** A usual file is examined in less. A slow file or a busy worker must not delay the response for longer. */
const maxWaitMs = 2_000
const pollMs = 100

/**
 * Waits until a worker has examined a complete source, because the response contains HTML with the aspect ratio of the
 * video, which people copy. Returns at once if more chunks are expected.
 */
async function waitForSize(db: Db<Tables>, videoId: string): Promise<void> {
  const until = performance.now() + maxWaitMs
  while ((await isBeingExamined(db, videoId)) && performance.now() < until) await setTimeout(pollMs)
}
