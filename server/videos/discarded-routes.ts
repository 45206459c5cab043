import type { Context } from '../context.ts'
import { invalidAttribute, notFound } from '../lib/errors.ts'
import { type App, ref } from '../lib/http.ts'
import { listResponse } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { deleteDiscarded, restoreVideo } from './discard.ts'
import { findDiscarded, listDiscarded } from './discarded-store.ts'
import { checkId, readSearch, searchQuery, videoParams } from './query.ts'
import { Video, VideoList } from './schemas.ts'
import { viewDiscarded, viewVideo } from './view.ts'

/** Deleted videos that can be restored. */
export function discardedRoutes(app: App, context: Context): void {
  list(app, context)
  show(app, context)
  restore(app, context)
  remove(app, context)
}

function list(app: App, { now }: Context): void {
  const schema = {
    operationId: 'LIST-discarded-videos',
    tags: ['Videos'],
    summary: 'List and search discarded videos',
    description:
      'Deleted videos that can be restored. There are none if the service does not keep deleted videos.',
    querystring: searchQuery,
    response: { 200: ref(VideoList) },
  }
  app.get('/discarded/videos', { schema }, async ({ query, read, scope: { environment } }) => {
    const { filter, order, page } = readSearch(query)
    const { videos, total } = await read((db) =>
      listDiscarded(db, { environment, now: now() }, filter, order, page),
    )
    return listResponse('/discarded/videos', query, page, videos.map(viewDiscarded), total)
  })
}

function show(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'GET-discarded-video',
    tags: ['Videos'],
    summary: 'Show a discarded video',
    description: 'A deleted video that can be restored. Its `assets` are null.',
    params: videoParams,
    response: { 200: ref(Video) },
  }
  app.get('/discarded/videos/:videoId', { schema }, async ({ params, scope }) => {
    const row = await findDiscarded(db, scope.environment, checkId(params.videoId), now())
    if (!row) throw notFound('videoId')
    return viewDiscarded(row)
  })
}

function restore(app: App, context: Context): void {
  const schema = {
    operationId: 'PATCH-discarded-video',
    tags: ['Videos'],
    summary: 'Restore a discarded video',
    description:
      'The video can be played and found again, with everything it had. An upload or encoding that was interrupted continues.',
    params: videoParams,
    body: Type.Object({
      discarded: Type.Boolean({
        description: '`false` restores the video. `true` is not allowed.',
        examples: [false],
      }),
    }),
    response: { 200: ref(Video) },
  }
  app.patch('/discarded/videos/:videoId', { schema }, async ({ params, body, scope }) => {
    const videoId = checkId(params.videoId)
    if (body.discarded)
      throw invalidAttribute('discarded', '"discarded" must be false. To discard a video, delete it.')
    const row = await restoreVideo(context, scope.environment, videoId)
    if (!row) throw notFound('videoId')
    return viewVideo(context, row)
  })
}

function remove(app: App, context: Context): void {
  const schema = {
    operationId: 'DELETE-discarded-video',
    tags: ['Videos'],
    summary: 'Delete a discarded video permanently',
    description:
      'The video cannot be restored any more, and its files are removed within seconds. A video that is not discarded returns 404: delete it first.',
    params: videoParams,
    response: { 204: Type.Null({ description: 'Permanently deleted.' }) },
  }
  app.delete('/discarded/videos/:videoId', { schema }, async ({ params, scope }, reply) => {
    const isDeleted = await deleteDiscarded(context, scope.environment, checkId(params.videoId))
    if (!isDeleted) throw notFound('videoId')
    return reply.code(204).send(null)
  })
}
