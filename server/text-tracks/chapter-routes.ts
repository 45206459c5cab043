import type { Context } from '../context.ts'

import { type App, fileUpload, ref } from '../lib/http.ts'
import { readLanguage } from '../lib/languages.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { noTrack, requireLanguage, requireVideo, uploadTrack } from './requests.ts'
import { Chapter, ChapterList, trackListParams, trackParams } from './schemas.ts'
import * as store from './store.ts'
import { viewChapter } from './view.ts'

const tags = ['Chapters']
const kind = 'chapters'

const upload = fileUpload(
  'A WebVTT or SRT file of at most 4 MiB, in UTF-8, UTF-16 or Windows-1252. Each cue is a chapter, and its text is the title.',
  'chapters.vtt',
)

// An unknown language is 400 for captions and for the upload of chapters, but 404 when chapters are shown or deleted: the
// published interface has no 400 for these two operations.

export function chapterRoutes(app: App, context: Context): void {
  uploadChapter(app, context)
  listChapters(app, context)
  showChapter(app, context)
  deleteChapter(app, context)
}

function uploadChapter(app: App, context: Context): void {
  const schema = {
    operationId: 'POST_videos-videoId-chapters-language',
    tags,
    summary: 'Upload chapters',
    description: 'Also works before the video has content. Replaces the chapters in this language.',
    params: trackParams,
    response: { 200: ref(Chapter) },
  }
  app.post('/videos/:videoId/chapters/:language', { config: upload, schema }, async (request) => {
    const { videoId } = request.params
    const video = await requireVideo(context, request.scope.environment, videoId)
    const language = requireLanguage(request.params.language)
    const track = await uploadTrack(context, { videoId, kind, language }, request.raw)
    return viewChapter(context, video, track)
  })
}

function listChapters(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_videos-videoId-chapters',
    tags,
    summary: 'List the chapters of a video',
    description: 'One item for each language, sorted by language.',
    params: trackListParams,
    querystring: Type.Object(pageQuery),
    response: { 200: ref(ChapterList) },
  }
  app.get('/videos/:videoId/chapters', { schema }, async ({ params: { videoId }, query, scope }) => {
    const video = await requireVideo(context, scope.environment, videoId)
    const page = readPage(query)
    const { tracks, total } = await store.listTracks(context.db, { videoId, kind }, page)
    const items = tracks.map((track) => viewChapter(context, video, track))
    return listResponse(`/videos/${videoId}/chapters`, query, page, items, total)
  })
}

function showChapter(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_videos-videoId-chapters-language',
    tags,
    summary: 'Show chapters',
    description: 'Shows the chapters in one language, with the URL of their file.',
    params: trackParams,
    response: { 200: ref(Chapter) },
  }
  app.get('/videos/:videoId/chapters/:language', { schema }, async ({ params, scope }) => {
    const { videoId } = params
    const video = await requireVideo(context, scope.environment, videoId)
    const language = readLanguage(params.language)
    const track = language && (await store.findTrack(context.db, { videoId, kind, language }))
    if (!track) throw noTrack(kind)
    return viewChapter(context, video, track)
  })
}

function deleteChapter(app: App, context: Context): void {
  const schema = {
    operationId: 'DELETE_videos-videoId-chapters-language',
    tags,
    summary: 'Delete chapters',
    description: 'Removes the chapters in this language from the video.',
    params: trackParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/videos/:videoId/chapters/:language', { schema }, async ({ params, scope }, reply) => {
    const { videoId } = params
    await requireVideo(context, scope.environment, videoId)
    const language = readLanguage(params.language)
    const isDeleted = language && (await store.deleteTrack(context.db, { videoId, kind, language }))
    if (!isDeleted) throw noTrack(kind)
    return reply.code(204).send(null)
  })
}
