import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { createVideo } from './create.ts'
import {
  TagList,
  tagFilters,
  Video,
  VideoCreation,
  VideoList,
  VideoStatus,
  VideoUpdate,
  videoFilters,
} from './schemas.ts'
import { listTags, listVideos } from './search.ts'
import { findStatus } from './status.ts'
import * as store from './store.ts'
import { changeVideo } from './update.ts'
import { viewVideo } from './view.ts'

const params = Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) })

/** An id that cannot exist is not looked up: it may be anything. */
function checkId(videoId: string): string {
  if (!isId('vi', videoId)) throw notFound('videoId')
  return videoId
}

export function videoRoutes(app: App, context: Context): void {
  const { db } = context

  app.post(
    '/videos',
    {
      schema: {
        operationId: 'POST-video',
        tags: ['Videos'],
        summary: 'Create a video',
        description:
          'Without `source`: an empty container (201) to upload a file into. With `source`: the video is fetched in the background (202).',
        body: VideoCreation,
        response: { 201: ref(Video), 202: ref(Video) },
      },
    },
    async (request, reply) => {
      const row = await createVideo(context, request.scope, request.body)
      return reply.code(row.source_type === 'upload' ? 201 : 202).send(viewVideo(context, row))
    },
  )

  app.get(
    '/videos',
    {
      schema: {
        operationId: 'LIST-videos',
        tags: ['Videos'],
        summary: 'List and search videos',
        querystring: Type.Object({ ...videoFilters, ...pageQuery }),
        response: { 200: ref(VideoList) },
      },
    },
    async ({ query, scope }) => {
      const { title, description, tags, metadata, liveStreamId, sortBy, sortOrder } = query
      const filter = { title, description, tags, metadata, liveStreamId }
      const page = readPage(query)
      const order = { by: sortBy ?? 'createdAt', order: sortOrder ?? 'desc' } as const
      const { videos: rows, total } = await listVideos(db, scope.environment, filter, order, page)
      const videos = rows.map((row) => viewVideo(context, row))
      return listResponse('/videos', query, page, videos, total)
    },
  )

  app.get(
    '/videos/:videoId',
    {
      schema: {
        operationId: 'GET-video',
        tags: ['Videos'],
        summary: 'Show a video',
        params,
        response: { 200: ref(Video) },
      },
    },
    async (request) => {
      const row = await store.findVideo(db, request.scope.environment, checkId(request.params.videoId))
      if (!row) throw notFound('videoId')
      return viewVideo(context, row)
    },
  )

  app.patch(
    '/videos/:videoId',
    {
      schema: {
        operationId: 'PATCH-video',
        tags: ['Videos'],
        summary: 'Change a video',
        description: 'Attributes that are absent stay as they are; lists are replaced whole.',
        params,
        body: VideoUpdate,
        response: { 200: ref(Video) },
      },
    },
    async (request) => {
      const row = await changeVideo(context, request.scope, checkId(request.params.videoId), request.body)
      if (!row) throw notFound('videoId')
      return viewVideo(context, row)
    },
  )

  app.delete(
    '/videos/:videoId',
    {
      schema: {
        operationId: 'DELETE-video',
        tags: ['Videos'],
        summary: 'Delete a video',
        description: 'Final: a deleted video cannot be brought back.',
        params,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const videoId = checkId(request.params.videoId)
      await db.transaction().execute(async (trx) => {
        const deleted = await store.deleteVideo(trx, request.scope.environment, videoId)
        if (!deleted) throw notFound('videoId')
        await context.queue.send(trx, 'remove-files', { videoId, handle: deleted.handle })
      })
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/videos/:videoId/status',
    {
      schema: {
        operationId: 'GET-video-status',
        tags: ['Videos'],
        summary: 'Show how far upload and encoding are',
        params,
        response: { 200: ref(VideoStatus) },
      },
    },
    async (request) => {
      const videoId = checkId(request.params.videoId)
      const status = await findStatus(db, request.scope.environment, videoId)
      if (!status) throw notFound('videoId')
      return status
    },
  )

  app.get(
    '/tags',
    {
      schema: {
        operationId: 'LIST-tags',
        tags: ['Tags'],
        summary: 'List tags and how many videos have each',
        querystring: Type.Object({ ...tagFilters, ...pageQuery }),
        response: { 200: ref(TagList) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const order = { by: query.sortBy ?? 'value', order: query.sortOrder ?? 'asc' } as const
      const { tags, total } = await listTags(db, scope.environment, query, order, page)
      return listResponse('/tags', query, page, tags, total)
    },
  )
}
