import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { checkLiveStreamId, liveStreamParams } from '../live-streams/ids.ts'
import { findLiveStream } from '../live-streams/store.ts'
import { Broadcast, BroadcastList } from './broadcast-schemas.ts'
import * as store from './broadcast-store.ts'

const tags = ['Live streams']

/** The broadcasts of a live stream with their health, during and after the broadcast. */
export function broadcastRoutes(app: App, { db }: Context): void {
  const listSchema = {
    operationId: 'GET_live-streams-liveStreamId-broadcasts',
    tags,
    summary: 'List the broadcasts of a live stream',
    description: 'The newest first.',
    params: liveStreamParams,
    querystring: Type.Object({ ...pageQuery }),
    response: { 200: ref(BroadcastList) },
  }
  app.get(
    '/live-streams/:liveStreamId/broadcasts',
    { schema: listSchema },
    async ({ params, query, scope }) => {
      const id = checkLiveStreamId(params.liveStreamId)
      if (!(await findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
      const page = readPage(query)
      const { rows, total } = await store.listBroadcasts(db, id, page)
      return listResponse(`/live-streams/${id}/broadcasts`, query, page, rows.map(viewBroadcast), total)
    },
  )

  const showSchema = {
    operationId: 'GET_live-streams-liveStreamId-broadcasts-broadcastId',
    tags,
    summary: 'Show a broadcast',
    description: 'With what the encoder sends, the states of the restreams and anything that is wrong.',
    params: Type.Object({
      ...liveStreamParams.properties,
      broadcastId: idField(store.broadcastPrefix, 'Id of the broadcast.'),
    }),
    response: { 200: ref(Broadcast) },
  }
  const path = '/live-streams/:liveStreamId/broadcasts/:broadcastId'
  app.get(path, { schema: showSchema }, async ({ params, scope }) => {
    const id = checkLiveStreamId(params.liveStreamId)
    if (!(await findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
    const isBroadcastId = isId(store.broadcastPrefix, params.broadcastId)
    const row = isBroadcastId ? await store.findBroadcast(db, params.broadcastId) : undefined
    if (row?.live_stream_id !== id) throw notFound('broadcastId')
    return viewBroadcast(row)
  })
}

const time = (date: Date | null) => date && atom(date)

function viewBroadcast(row: store.Broadcast): Broadcast {
  return {
    broadcastId: row.id,
    state: row.state,
    qualities: row.qualities,
    health: row.health as Broadcast['health'],
    restreams: row.restreams.map((each) => ({ ...each, since: atom(new Date(each.since)) })),
    startedAt: atom(row.started_at),
    visibleAt: time(row.visible_at),
    endedAt: time(row.ended_at),
  }
}
