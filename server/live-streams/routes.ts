import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, ref } from '../lib/http.ts'
import { newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { readMetadata } from '../videos/payload.ts'
import { withPlayer } from '../videos/with-player.ts'
import { checkRestreams } from './check-restreams.ts'
import { checkLiveStreamId, liveStreamParams, liveStreamPrefix, newStreamKey } from './ids.ts'
import { LiveStream, LiveStreamCreation, LiveStreamList, LiveStreamUpdate, listQuery } from './schemas.ts'
import * as store from './store.ts'
import { viewLiveStream } from './view.ts'

export function liveStreamRoutes(app: App, context: Context): void {
  createLiveStream(app, context)
  listLiveStreams(app, context)
  showLiveStream(app, context)
  updateLiveStream(app, context)
  deleteLiveStream(app, context)
}

function createLiveStream(app: App, context: Context): void {
  const schema = {
    operationId: 'POST_live-streams',
    tags: ['Live streams'],
    summary: 'Create a live stream',
    description: 'Send video to it with the `streamKey` of the response.',
    body: LiveStreamCreation,
    response: { 200: ref(LiveStream) },
  }
  app.post('/live-streams', { schema }, async ({ body, scope }) => {
    checkRestreams(body.restreams, context.config)
    const time = context.now()
    const row: store.StoredLiveStream = {
      id: newId(liveStreamPrefix),
      environment: scope.environment,
      name: body.name,
      stream_key: newStreamKey(),
      public: body.public ?? true,
      record: body.record ?? true,
      player_id: body.playerId ?? null,
      restreams: body.restreams ?? [],
      metadata: readMetadata(body.metadata ?? []),
      show_viewers: body.showViewers ?? false,
      srt_passphrase: body.srtPassphrase ?? null,
      last_refusal: null,
      created_at: time,
      updated_at: time,
    }
    await withPlayer(body.playerId, () => store.insertLiveStream(context.db, row))
    return viewLiveStream(context, { ...row, broadcasting: false })
  })
}

function listLiveStreams(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_live-streams',
    tags: ['Live streams'],
    summary: 'List live streams',
    description: 'Returns the live streams of the environment. All filters must match.',
    querystring: Type.Object({ ...listQuery, ...pageQuery }),
    response: { 200: ref(LiveStreamList) },
  }
  app.get('/live-streams', { config: { secrets: ['streamKey'] }, schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
    const { rows, total } = await read((db) =>
      store.listLiveStreams(db, scope.environment, query, order, page),
    )
    const items = rows.map((row) => viewLiveStream(context, row))
    return listResponse('/live-streams', query, page, items, total)
  })
}

function showLiveStream(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Show a live stream',
    description: 'Includes its stream key, and whether viewers can watch it now.',
    params: liveStreamParams,
    response: { 200: ref(LiveStream) },
  }
  app.get('/live-streams/:liveStreamId', { schema }, async ({ params, scope }) => {
    const row = await store.findLiveStream(
      context.db,
      scope.environment,
      checkLiveStreamId(params.liveStreamId),
    )
    if (!row) throw notFound('liveStreamId')
    return viewLiveStream(context, row)
  })
}

function updateLiveStream(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'PATCH_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Change a live stream',
    description: 'Attributes that are absent do not change. `restreams` replaces the entire list.',
    params: liveStreamParams,
    body: LiveStreamUpdate,
    response: { 200: ref(LiveStream) },
  }
  app.patch('/live-streams/:liveStreamId', { schema }, async ({ params, body, scope }) => {
    const id = checkLiveStreamId(params.liveStreamId)
    checkRestreams(body.restreams, context.config)
    const { playerId, showViewers, srtPassphrase, metadata, ...rest } = body
    const change = {
      ...rest,
      ...(metadata && { metadata: readMetadata(metadata) }),
      ...(showViewers !== undefined && { show_viewers: showViewers }),
      ...(srtPassphrase !== undefined && { srt_passphrase: srtPassphrase }),
      ...(playerId !== undefined && { player_id: playerId }),
    }
    const row = await withPlayer(playerId, () =>
      store.updateLiveStream(db, scope.environment, id, change, now()),
    )
    if (!row) throw notFound('liveStreamId')
    return viewLiveStream(context, row)
  })
}

function deleteLiveStream(app: App, { db, queue }: Context): void {
  const schema = {
    operationId: 'DELETE_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Delete a live stream',
    description: 'A broadcast in progress ends and is recorded. Recordings are kept.',
    params: liveStreamParams,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/live-streams/:liveStreamId', { schema }, async ({ params, scope }, reply) => {
    const id = checkLiveStreamId(params.liveStreamId)
    const deleted = await db.transaction().execute(async (trx) => {
      const deleted = await store.deleteLiveStream(trx, scope.environment, id)
      if (!deleted) return undefined
      await store.keepForRecordings(trx, deleted)
      await store.requestEnd(trx, id)
      await queue.send(trx, 'delete-sessions', { mediaId: id })
      return deleted
    })
    if (!deleted) throw notFound('liveStreamId')
    return reply.code(204).send(null)
  })
}
