import { Type } from 'typebox'
import type { Context } from '../contracts/context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { findVideo } from '../videos/store.ts'
import { retryEncoding } from './retry.ts'

export function encodingRoutes(app: App, context: Context): void {
  app.post(
    '/videos/:videoId/retry',
    {
      schema: {
        operationId: 'POST-videos-videoId-retry',
        tags: ['Videos'],
        summary: 'Encode again what failed',
        description: 'Qualities that were encoded stay as they are.',
        params: Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) }),
        response: { 202: Type.Null({ description: 'Begun; the status of the video tells how far it is.' }) },
      },
    },
    async (request, reply) => {
      const { videoId } = request.params
      const video = isId('vi', videoId) && (await findVideo(context.db, request.scope.environment, videoId))
      if (!video) throw notFound('videoId')
      if (!(await retryEncoding(context, videoId))) throw new ApiError('nothing-to-retry')
      return reply.code(202).send(null)
    },
  )
}
