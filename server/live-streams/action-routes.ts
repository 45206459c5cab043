import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { ImageServices } from '../media/image-upload.ts'
import { checkLiveStreamId, liveStreamParams, newStreamKey } from './ids.ts'
import { LiveStream } from './schemas.ts'
import * as store from './store.ts'
import { receiveThumbnail } from './thumbnail.ts'
import { viewLiveStream } from './view.ts'

const tags = ['Live streams']

/** What can be done with a live stream besides changing its attributes. */
export function actionRoutes(app: App, context: Context & ImageServices): void {
  completeBroadcast(app, context)
  rotateStreamKey(app, context)
  uploadThumbnail(app, context)
  deleteThumbnail(app, context)
}

function completeBroadcast(app: App, { db }: Context): void {
  const schema = {
    operationId: 'PUT_live-streams-liveStreamId-complete',
    tags,
    summary: 'Complete a live stream',
    description:
      'Ends the broadcast in progress without waiting for the encoder to reconnect. ' +
      'The recording becomes a video. The stream key can be used again immediately. Without a broadcast, nothing happens.',
    params: liveStreamParams,
    // An empty body, as the published clients expect.
    response: { 202: Type.Unsafe<undefined>({ type: 'null', description: 'The broadcast is being ended.' }) },
  }
  app.put('/live-streams/:liveStreamId/complete', { schema }, async ({ params, scope }, reply) => {
    const id = checkLiveStreamId(params.liveStreamId)
    if (!(await store.findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
    await store.requestEnd(db, id)
    return reply.code(202).send(undefined)
  })
}

function rotateStreamKey(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'POST_live-streams-liveStreamId-stream-key',
    tags,
    summary: 'Rotate the stream key',
    description: 'The previous key stops working. A broadcast in progress continues.',
    params: liveStreamParams,
    response: { 200: ref(LiveStream) },
  }
  app.post('/live-streams/:liveStreamId/stream-key', { schema }, async ({ params, scope }) => {
    const change = { stream_key: newStreamKey() }
    const id = checkLiveStreamId(params.liveStreamId)
    const row = await store.updateLiveStream(db, scope.environment, id, change, now())
    if (!row) throw notFound('liveStreamId')
    return viewLiveStream(context, row)
  })
}

const upload = fileUpload('A JPEG, PNG or WebP image of at most 8 MiB.', 'thumbnail.jpg')

function uploadThumbnail(app: App, context: Context & ImageServices): void {
  const { imageLimit } = context
  const schema = {
    operationId: 'POST_live-streams-liveStreamId-thumbnail',
    tags,
    summary: 'Upload a thumbnail',
    description: 'Players show the image before the broadcast.',
    params: liveStreamParams,
    response: { 201: ref(LiveStream) },
  }
  app.post('/live-streams/:liveStreamId/thumbnail', { config: upload, schema }, async (request, reply) => {
    const id = checkLiveStreamId(request.params.liveStreamId)
    const { environment } = request.scope
    if (!(await store.findLiveStream(context.db, environment, id))) throw notFound('liveStreamId')
    const data = await receiveThumbnail(context, imageLimit, request.raw)
    const isSaved = await store.saveThumbnail(context.db, id, data)
    const row = isSaved ? await store.findLiveStream(context.db, environment, id) : undefined
    if (!row) throw notFound('liveStreamId')
    return reply.code(201).send(viewLiveStream(context, row))
  })
}

function deleteThumbnail(app: App, context: Context): void {
  const { db } = context
  const schema = {
    operationId: 'DELETE_live-streams-liveStreamId-thumbnail',
    tags,
    summary: 'Delete a thumbnail',
    description: 'Players show a placeholder again.',
    params: liveStreamParams,
    response: { 200: ref(LiveStream) },
  }
  app.delete('/live-streams/:liveStreamId/thumbnail', { schema }, async ({ params, scope }) => {
    const id = checkLiveStreamId(params.liveStreamId)
    const row = await store.findLiveStream(db, scope.environment, id)
    if (!row) throw notFound('liveStreamId')
    await store.deleteThumbnail(db, id)
    return viewLiveStream(context, row)
  })
}
