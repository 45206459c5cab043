import type { Context } from '../context.ts'
import { type FieldError, httpErrors, invalid, notFound } from '../lib/errors.ts'
import { type App, ref } from '../lib/http.ts'
import { isId, newId, randomWord } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { withPlayer } from '../players/with-player.ts'
import { readMetadata } from '../videos/payload.ts'
import {
  LiveStream,
  LiveStreamCreation,
  LiveStreamList,
  LiveStreamUpdate,
  listQuery,
  type Restream,
} from './schemas.ts'
import * as store from './store.ts'
import { viewLiveStream } from './view.ts'

const idPrefix = 'li'
const params = Type.Object({ liveStreamId: Type.String({ description: 'Id of the live stream.' }) })

/** Strings that are not ids never reach the database. */
function checkId(liveStreamId: string): string {
  if (!isId(idPrefix, liveStreamId)) throw notFound('liveStreamId')
  return liveStreamId
}

/** 22 characters hold 131 bits. */
const newStreamKey = () => randomWord(22)

function checkRestreams(restreams: Restream[] | undefined): void {
  const problems = (restreams ?? []).flatMap(({ serverUrl }, i): FieldError[] => {
    const url = URL.parse(serverUrl)
    const isValid = url !== null && /^rtmps?:$/.test(url.protocol) && url.hostname !== ''
    const name = `restreams[${i}][serverUrl]`
    const title = `"${name}" must be an rtmp or rtmps URL, such as rtmp://live.example.com/app.`
    return isValid ? [] : [{ kind: httpErrors.invalidAttribute, title, name }]
  })
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
}

export function liveStreamRoutes(app: App, context: Context): void {
  createLiveStream(app, context)
  listLiveStreams(app, context)
  showLiveStream(app, context)
  updateLiveStream(app, context)
  deleteLiveStream(app, context)
  rotateStreamKey(app, context)
}

const view = (context: Context, row: store.StoredLiveStream) => viewLiveStream(context, row, false)

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
    checkRestreams(body.restreams)
    const time = context.now()
    const row: store.StoredLiveStream = {
      id: newId(idPrefix),
      environment: scope.environment,
      name: body.name,
      stream_key: newStreamKey(),
      public: body.public ?? true,
      record: body.record ?? true,
      player_id: body.playerId ?? null,
      restreams: body.restreams ?? [],
      metadata: readMetadata(body.metadata ?? []),
      show_viewers: body.showViewers ?? false,
      thumbnail_key: null,
      created_at: time,
      updated_at: time,
    }
    await withPlayer(body.playerId, () => store.insertLiveStream(context.db, row))
    return view(context, row)
  })
}

function listLiveStreams(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_live-streams',
    tags: ['Live streams'],
    summary: 'List live streams',
    querystring: Type.Object({ ...listQuery, ...pageQuery }),
    response: { 200: ref(LiveStreamList) },
  }
  app.get('/live-streams', { schema }, async ({ query, scope }) => {
    const page = readPage(query)
    const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
    const { rows, total } = await store.listLiveStreams(context.db, scope.environment, query, order, page)
    const items = rows.map((row) => view(context, row))
    return listResponse('/live-streams', query, page, items, total)
  })
}

function showLiveStream(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Show a live stream',
    params,
    response: { 200: ref(LiveStream) },
  }
  app.get('/live-streams/:liveStreamId', { schema }, async ({ params, scope }) => {
    const row = await store.findLiveStream(context.db, scope.environment, checkId(params.liveStreamId))
    if (!row) throw notFound('liveStreamId')
    return view(context, row)
  })
}

function updateLiveStream(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'PATCH_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Change a live stream',
    description: 'Attributes that are absent stay as they are. `restreams` replaces the entire list.',
    params,
    body: LiveStreamUpdate,
    response: { 200: ref(LiveStream) },
  }
  app.patch('/live-streams/:liveStreamId', { schema }, async ({ params, body, scope }) => {
    const id = checkId(params.liveStreamId)
    checkRestreams(body.restreams)
    const { playerId, showViewers, metadata, ...rest } = body
    const change = {
      ...rest,
      ...(metadata && { metadata: readMetadata(metadata) }),
      ...(showViewers !== undefined && { show_viewers: showViewers }),
      ...(playerId !== undefined && { player_id: playerId }),
    }
    const row = await withPlayer(playerId, () =>
      store.updateLiveStream(db, scope.environment, id, change, now()),
    )
    if (!row) throw notFound('liveStreamId')
    return view(context, row)
  })
}

function deleteLiveStream(app: App, { db, queue }: Context): void {
  const schema = {
    operationId: 'DELETE_live-streams-liveStreamId',
    tags: ['Live streams'],
    summary: 'Delete a live stream',
    description: 'A broadcast in progress ends. Recordings stay.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/live-streams/:liveStreamId', { schema }, async ({ params, scope }, reply) => {
    const id = checkId(params.liveStreamId)
    const isDeleted = await db.transaction().execute(async (trx) => {
      const isDeleted = await store.deleteLiveStream(trx, scope.environment, id)
      if (isDeleted) await queue.send(trx, 'delete-sessions', { mediaId: id })
      return isDeleted
    })
    if (!isDeleted) throw notFound('liveStreamId')
    return reply.code(204).send(null)
  })
}

function rotateStreamKey(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'POST_live-streams-liveStreamId-stream-key',
    tags: ['Live streams'],
    summary: 'Rotate the stream key',
    description: 'The previous key is rejected from then on. A broadcast in progress continues.',
    params,
    response: { 200: ref(LiveStream) },
  }
  app.post('/live-streams/:liveStreamId/stream-key', { schema }, async ({ params, scope }) => {
    const change = { stream_key: newStreamKey() }
    const id = checkId(params.liveStreamId)
    const row = await store.updateLiveStream(db, scope.environment, id, change, now())
    if (!row) throw notFound('liveStreamId')
    return view(context, row)
  })
}
