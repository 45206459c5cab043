import { notFound } from '../lib/errors.ts'
import { type App, ref } from '../lib/http.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { listTags } from './count-store.ts'
import { createVideo } from './create.ts'
import { discardOrDelete } from './discard.ts'
import { maxFound, tagFilters } from './filters.ts'
import { includeQuery, viewVideos } from './include.ts'
import { VideoCreation, VideoUpdate } from './input-schemas.ts'
import type { VideosContext } from './parts.ts'
import { checkId, listQuery, readSearch, videoParams } from './query.ts'
import { TagList, Video, VideoList } from './schemas.ts'
import { listVideos } from './search-store.ts'
import { findStatus } from './status.ts'
import { VideoStatus } from './status-schemas.ts'
import { findVideo } from './store.ts'
import { updateVideo } from './update.ts'
import { viewVideo } from './view.ts'

export function videoRoutes(app: App, context: VideosContext): void {
  create(app, context)
  list(app, context)
  show(app, context)
  update(app, context)
  remove(app, context)
  showStatus(app, context)
  showTags(app)
}

function create(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'POST-video',
    tags: ['Videos'],
    summary: 'Create a video',
    description:
      'Without `source`: an empty container (201) to upload a file into. With `source`: the video is fetched in the background (202).',
    body: VideoCreation,
    response: { 201: ref(Video), 202: ref(Video) },
  }
  app.post('/videos', { schema }, async (request, reply) => {
    const requestTranscript = context.parts.readTranscriptRequest(context.config, request.body)
    const row = await createVideo(context, request.scope, request.body, { requestTranscript })
    return reply.code(row.source_type === 'upload' ? 201 : 202).send(viewVideo(context, row))
  })
}

function list(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'LIST-videos',
    tags: ['Videos'],
    summary: 'List and search videos',
    description: `Returns the videos that match all given filters. With filters other than a single tag, \`itemsTotal\` counts up to ${maxFound.toLocaleString('en')} videos.`,
    querystring: listQuery,
    response: { 200: ref(VideoList) },
  }
  app.get('/videos', { schema }, async ({ query, read, scope }) => {
    const { filter, order, page } = readSearch(query)
    const { videos: rows, total } = await read((db) => listVideos(db, scope.environment, filter, order, page))
    const videos = await viewVideos(context, rows, query.include)
    return listResponse('/videos', query, page, videos, total)
  })
}

function show(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'GET-video',
    tags: ['Videos'],
    summary: 'Show a video',
    description: 'Also works while the video is being uploaded or encoded.',
    params: videoParams,
    querystring: Type.Object(includeQuery),
    response: { 200: ref(Video) },
  }
  app.get('/videos/:videoId', { schema }, async ({ params, query, scope }) => {
    const row = await findVideo(context.db, scope.environment, checkId(params.videoId))
    if (!row) throw notFound('videoId')
    const [video] = await viewVideos(context, [row], query.include)
    return video!
  })
}

function update(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'PATCH-video',
    tags: ['Videos'],
    summary: 'Change a video',
    description: 'Attributes that are absent do not change. Lists are replaced.',
    params: videoParams,
    body: VideoUpdate,
    response: { 200: ref(Video) },
  }
  app.patch('/videos/:videoId', { schema }, async (request) => {
    const { body, scope, params } = request
    const requestTranscript = context.parts.readTranscriptRequest(context.config, body)
    const row = await updateVideo(context, scope, checkId(params.videoId), body, requestTranscript)
    if (!row) throw notFound('videoId')
    return viewVideo(context, row)
  })
}

function remove(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'DELETE-video',
    tags: ['Videos'],
    summary: 'Delete a video',
    description:
      'The video stops playing immediately. It is discarded, and can be restored until its `deletesAt`: for 7 days, unless the service is configured differently. To delete it permanently at once, delete the discarded video too.',
    params: videoParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/videos/:videoId', { schema }, async ({ params, scope }, reply) => {
    const isDeleted = await discardOrDelete(context, scope.environment, checkId(params.videoId))
    if (!isDeleted) throw notFound('videoId')
    return reply.code(204).send(null)
  })
}

function showStatus(app: App, context: VideosContext): void {
  const schema = {
    operationId: 'GET-video-status',
    tags: ['Videos'],
    summary: 'Show the progress of upload and encoding',
    description: 'Shows what has arrived, which qualities are encoded and what failed.',
    params: videoParams,
    response: { 200: ref(VideoStatus) },
  }
  app.get('/videos/:videoId/status', { schema }, async ({ params, scope }) => {
    const status = await findStatus(context, scope.environment, checkId(params.videoId))
    if (!status) throw notFound('videoId')
    return status
  })
}

function showTags(app: App): void {
  const schema = {
    operationId: 'LIST-tags',
    tags: ['Tags'],
    summary: 'List tags with the number of videos that have them',
    description: 'Tags can be found by a part of their name, and sorted by name or number.',
    querystring: Type.Object({ ...tagFilters, ...pageQuery }),
    response: { 200: ref(TagList) },
  }
  app.get('/tags', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const order = { by: query.sortBy ?? 'value', order: query.sortOrder ?? 'asc' } as const
    const { tags, total } = await read((db) => listTags(db, scope.environment, query, order, page))
    return listResponse('/tags', query, page, tags, total)
  })
}
