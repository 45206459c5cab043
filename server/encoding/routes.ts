import { ApiError, notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import type { VideosContext } from '../videos/parts.ts'
import { findStatus } from '../videos/status.ts'
import { VideoStatus } from '../videos/status-schemas.ts'
import { encodingErrors } from './errors.ts'
import { retryEncoding } from './retry.ts'

export function encodingRoutes(app: App, context: VideosContext): void {
  app.post(
    '/videos/:videoId/retry',
    {
      schema: {
        operationId: 'POST-videos-videoId-retry',
        tags: ['Videos'],
        summary: 'Retry a failed encoding',
        description:
          'Encodes failed qualities again. Completed qualities do not change. If the source file is missing, it is fetched or copied again, and the whole video is encoded anew; an uploaded file has to be uploaded again (409 `source-missing`).',
        params: Type.Object({ videoId: idField('vi', 'Id of the video.') }),
        response: { 202: ref(VideoStatus) },
      },
    },
    async (request, reply) => {
      const { videoId } = request.params
      const find = () => findStatus(context, request.scope.environment, videoId)
      if (!isId('vi', videoId) || !(await find())) throw notFound('videoId')
      if (!(await retryEncoding(context, videoId))) throw new ApiError(encodingErrors.nothingToRetry)
      const status = await find()
      if (!status) throw notFound('videoId')
      return reply.code(202).send(status)
    },
  )
}
