import type { Context } from '../../context.ts'
import { notFound } from '../../lib/errors.ts'
import { etagOf } from '../../lib/etag.ts'
import { idField } from '../../lib/fields.ts'
import type { App } from '../../lib/http.ts'
import { Type } from '../../lib/schema.ts'
import { sendContent } from '../../playback/send.ts'
import { sourceKey } from '../../videos/files.ts'
import { checkId } from '../../videos/query.ts'
import { findVideo } from '../../videos/store.ts'
import { findEdits, findSource } from './store.ts'

const file = { type: 'string', format: 'binary', examples: ['video.mp4'] }

/** The owner gets back what was uploaded, byte for byte. */
export function downloadRoute(app: App, context: Context): void {
  const { db, files } = context
  const schema = {
    operationId: 'GET_videos-videoId-source',
    tags: ['Uploads'],
    summary: 'Download the source of a video',
    description:
      'The file as it was uploaded or fetched. Ranges are supported. If viewers see only a part of it, or a watermark, the header `Kinora-Source-Edits` contains `clip` or `watermark`. 404 while the video has no complete source, and after the source was dropped.',
    params: Type.Object({ videoId: idField('vi', 'Id of the video.') }),
    response: {
      200: {
        description: 'The file.',
        content: { 'application/octet-stream': { schema: Type.Unsafe<unknown>(file) } },
      },
    },
  }
  app.get(
    '/videos/:videoId/source',
    { config: { countsSentBytes: true }, schema },
    async (request, reply) => {
      const videoId = checkId(request.params.videoId)
      if (!(await findVideo(db, request.scope.environment, videoId))) throw notFound('videoId')
      const source = await findSource(db, videoId)
      const key = sourceKey(videoId)
      const found = source?.state === 'stored' ? await files.stat(key) : undefined
      if (!source || !found) throw notFound('videoId', 'The video has no source, or it was dropped.')
      const edits = await findEdits(db, videoId)
      if (edits.length > 0) reply.header('kinora-source-edits', edits.join(', '))
      return sendContent({ ...context, sentKind: 'source' }, request, reply as never, {
        key,
        size: found.size,
        type: 'application/octet-stream',
        cacheControl: 'private, no-cache',
        // A source that was lost can be replaced under its key.
        etag: etagOf(`${key} ${found.size} ${found.modified.getTime()}`),
        disposition: 'attachment',
      }) as never
    },
  )
}
