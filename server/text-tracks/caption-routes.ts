import type { Context } from '../context.ts'

import { type App, fileUpload, ref } from '../lib/http.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { noTrack, requireLanguage, requireVideo, uploadTrack } from './requests.ts'
import { Caption, CaptionList, CaptionUpdate, trackListParams, trackParams } from './schemas.ts'
import * as store from './store.ts'
import { viewCaption } from './view.ts'

const tags = ['Captions']
const kind = 'captions'

const upload = fileUpload(
  'A WebVTT or SRT file of at most 4 MiB, in UTF-8, UTF-16 or Windows-1252. SRT is converted to WebVTT.',
  'captions.vtt',
)

export function captionRoutes(app: App, context: Context): void {
  uploadCaption(app, context)
  listCaptions(app, context)
  showCaption(app, context)
  updateCaption(app, context)
  deleteCaption(app, context)
}

function uploadCaption(app: App, context: Context): void {
  const schema = {
    operationId: 'POST_videos-videoId-captions-language',
    tags,
    summary: 'Upload captions',
    description:
      'Also works before the video has content. Replaces the captions in this language, which stay the default if they are.',
    params: trackParams,
    response: { 200: ref(Caption) },
  }
  app.post('/videos/:videoId/captions/:language', { config: upload, schema }, async (request) => {
    const { videoId } = request.params
    const video = await requireVideo(context, request.scope.environment, videoId)
    const language = requireLanguage(request.params.language)
    const track = await uploadTrack(context, { videoId, kind, language }, request.raw)
    return viewCaption(context, video, track)
  })
}

function listCaptions(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_videos-videoId-captions',
    tags,
    summary: 'List the captions of a video',
    description: 'Sorted by language.',
    params: trackListParams,
    querystring: Type.Object(pageQuery),
    response: { 200: ref(CaptionList) },
  }
  app.get('/videos/:videoId/captions', { schema }, async ({ params: { videoId }, query, scope }) => {
    const video = await requireVideo(context, scope.environment, videoId)
    const page = readPage(query)
    const { tracks, total } = await store.listTracks(context.db, { videoId, kind }, page)
    const items = tracks.map((track) => viewCaption(context, video, track))
    return listResponse(`/videos/${videoId}/captions`, query, page, items, total)
  })
}

function showCaption(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_videos-videoId-captions-language',
    tags,
    summary: 'Show captions',
    description: 'Shows the captions in one language, with the URL of their file.',
    params: trackParams,
    response: { 200: ref(Caption) },
  }
  app.get('/videos/:videoId/captions/:language', { schema }, async ({ params, scope }) => {
    const { videoId } = params
    const video = await requireVideo(context, scope.environment, videoId)
    const language = requireLanguage(params.language)
    const track = await store.findTrack(context.db, { videoId, kind, language })
    if (!track) throw noTrack(kind)
    return viewCaption(context, video, track)
  })
}

function updateCaption(app: App, context: Context): void {
  const { db } = context
  const schema = {
    operationId: 'PATCH_videos-videoId-captions-language',
    tags,
    summary: 'Change the default captions',
    description: 'A video has captions in one language by default, or none.',
    params: trackParams,
    body: CaptionUpdate,
    response: { 200: ref(Caption) },
  }
  app.patch('/videos/:videoId/captions/:language', { schema }, async ({ params, body, scope }) => {
    const { videoId } = params
    const video = await requireVideo(context, scope.environment, videoId)
    const key = { videoId, kind, language: requireLanguage(params.language) } as const
    const { default: isDefault } = body
    const track =
      isDefault === undefined
        ? await store.findTrack(db, key)
        : await db.transaction().execute(async (trx) => {
            await store.lockVideo(trx, videoId)
            return store.setDefault(trx, key, isDefault)
          })
    if (!track) throw noTrack(kind)
    return viewCaption(context, video, track)
  })
}

function deleteCaption(app: App, context: Context): void {
  const schema = {
    operationId: 'DELETE_videos-videoId-captions-language',
    tags,
    summary: 'Delete captions',
    description: 'Removes the captions in this language from the video.',
    params: trackParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/videos/:videoId/captions/:language', { schema }, async ({ params, scope }, reply) => {
    const { videoId } = params
    await requireVideo(context, scope.environment, videoId)
    const language = requireLanguage(params.language)
    if (!(await store.deleteTrack(context.db, { videoId, kind, language }))) throw noTrack(kind)
    return reply.code(204).send(null)
  })
}
