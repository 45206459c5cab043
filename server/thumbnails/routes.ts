import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import { timecodePattern } from '../media/pictures.ts'
import { Video } from '../videos/schemas.ts'
import { findVideo } from '../videos/store.ts'
import { viewVideo } from '../videos/view.ts'
import { wishFrame } from './store.ts'
import { createPictureLimit, receiveThumbnail } from './upload.ts'

const params = Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) })

const upload = fileUpload('A JPEG, PNG or WebP picture of at most 8 MiB.')

export function thumbnailRoutes(app: App, context: Context): void {
  const { db, queue } = context
  const limit = createPictureLimit()

  app.post(
    '/videos/:videoId/thumbnail',
    {
      config: upload,
      schema: {
        operationId: 'POST_videos-videoId-thumbnail',
        tags: ['Videos'],
        summary: 'Upload a thumbnail',
        description:
          'Also before the video has content. What was picked or uploaded last is the thumbnail; without either, a frame is chosen.',
        params,
        response: { 200: ref(Video) },
      },
    },
    async (request) => {
      const { videoId } = request.params
      const find = async () =>
        isId('vi', videoId) ? findVideo(db, request.scope.environment, videoId) : undefined
      if (!(await find())) throw notFound('videoId')
      await receiveThumbnail(context, limit, videoId, request.raw)
      const video = await find()
      if (!video) throw notFound('videoId')
      return viewVideo(context, video)
    },
  )

  app.patch(
    '/videos/:videoId/thumbnail',
    {
      schema: {
        operationId: 'PATCH_videos-videoId-thumbnail',
        tags: ['Videos'],
        summary: 'Pick a frame as thumbnail',
        description:
          'Also before the video has content: it is applied once that frame is encoded. Beyond the end of the video it is the first frame.',
        params,
        body: Type.Object({
          timecode: Type.String({
            pattern: timecodePattern,
            description: '`HH:MM:SS`, `HH:MM:SS.ms`, `HH:MM:SS:frame` or seconds.',
          }),
        }),
        response: { 200: ref(Video) },
      },
    },
    async (request) => {
      const { videoId } = request.params
      if (!isId('vi', videoId)) throw notFound('videoId')
      const video = await db.transaction().execute(async (trx) => {
        const found = await findVideo(trx, request.scope.environment, videoId)
        if (!found) throw notFound('videoId')
        await wishFrame(trx, videoId, request.body.timecode)
        await queue.send(trx, 'make-pictures', { videoId })
        return found
      })
      return viewVideo(context, video)
    },
  )
}
