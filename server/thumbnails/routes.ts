import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import { spoolUpload } from '../lib/spool.ts'
import { type ImageServices, maxImageBytes } from '../media/image-upload.ts'
import { timecodePattern } from '../media/timecode.ts'
import { Video } from '../videos/schemas.ts'
import { findVideo } from '../videos/store.ts'
import { viewVideo } from '../videos/view.ts'
import { pickFrame } from './store.ts'
import { receiveThumbnail } from './upload.ts'

const params = Type.Object({ videoId: idField('vi', 'Id of the video.') })

const upload = fileUpload('A JPEG, PNG or WebP image of at most 8 MiB.', 'thumbnail.jpg')

export function thumbnailRoutes(app: App, context: Context & ImageServices): void {
  uploadThumbnail(app, context)
  pickThumbnail(app, context)
}

function uploadThumbnail(app: App, context: Context & ImageServices): void {
  const { imageLimit } = context
  const schema = {
    operationId: 'POST_videos-videoId-thumbnail',
    tags: ['Videos'],
    summary: 'Upload a thumbnail',
    description:
      'Also works before the video has content. The last thumbnail that was picked or uploaded is used; without either, a frame is chosen automatically.',
    params,
    response: { 200: ref(Video) },
  }
  app.post('/videos/:videoId/thumbnail', { config: upload, schema }, async (request) => {
    const { videoId } = request.params
    const { environment } = request.scope
    const isKnown = isId('vi', videoId) && (await findVideo(context.db, environment, videoId))
    if (!isKnown) throw notFound('videoId')
    await receiveThumbnail(context, imageLimit, videoId, (folder) =>
      spoolUpload(request.raw, folder, maxImageBytes),
    )
    // The upload may have taken a while.
    const video = await findVideo(context.db, environment, videoId)
    if (!video) throw notFound('videoId')
    return viewVideo(context, video)
  })
}

function pickThumbnail(app: App, context: Context): void {
  const { db, queue } = context
  const schema = {
    operationId: 'PATCH_videos-videoId-thumbnail',
    tags: ['Videos'],
    summary: 'Pick a frame as thumbnail',
    description:
      'Also works before the video has content: the thumbnail changes once that frame is encoded. A timecode after the end of the video picks the first frame.',
    params,
    body: Type.Object({
      timecode: Type.String({
        pattern: timecodePattern,
        description: 'Position of the frame: `HH:MM:SS`, `HH:MM:SS.ms`, `HH:MM:SS:frame` or seconds.',
        examples: ['00:00:10'],
      }),
    }),
    response: { 200: ref(Video) },
  }
  app.patch('/videos/:videoId/thumbnail', { schema }, async (request) => {
    const { videoId } = request.params
    if (!isId('vi', videoId)) throw notFound('videoId')
    const video = await db.transaction().execute(async (trx) => {
      const found = await findVideo(trx, request.scope.environment, videoId)
      if (!found) throw notFound('videoId')
      await pickFrame(trx, videoId, request.body.timecode)
      await queue.send(trx, 'make-pictures', { videoId })
      return found
    })
    return viewVideo(context, video)
  })
}
