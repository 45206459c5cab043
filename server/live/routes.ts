import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { checkLiveStreamId, liveStreamParams } from '../live-streams/ids.ts'
import { findLiveStream } from '../live-streams/store.ts'
import { retryRecordings } from './output/recording/plan.ts'
import { listRecordings, type RecordingView } from './output/recording/store.ts'
import { Broadcast, BroadcastList } from './schemas.ts'
import * as store from './state/store.ts'

const tags = ['Live streams']

/** The broadcasts of a live stream with their health, during and after the broadcast. */
export function broadcastRoutes(app: App, context: Context): void {
  const { db } = context
  const listSchema = {
    operationId: 'GET_live-streams-liveStreamId-broadcasts',
    tags,
    summary: 'List the broadcasts of a live stream',
    description: 'Newest first.',
    params: liveStreamParams,
    querystring: Type.Object({ ...pageQuery }),
    response: { 200: ref(BroadcastList) },
  }
  app.get(
    '/live-streams/:liveStreamId/broadcasts',
    { schema: listSchema },
    async ({ params, query, read, scope }) => {
      const id = checkLiveStreamId(params.liveStreamId)
      if (!(await findLiveStream(db, scope.environment, id))) throw notFound('liveStreamId')
      const page = readPage(query)
      const { rows, total } = await read((db) => store.listBroadcasts(db, id, page))
      const recordings = await listRecordings(
        db,
        rows.map((row) => row.id),
      )
      const items = rows.map((row) => viewBroadcast(row, recordings))
      return listResponse(`/live-streams/${id}/broadcasts`, query, page, items, total)
    },
  )

  const showSchema = {
    operationId: 'GET_live-streams-liveStreamId-broadcasts-broadcastId',
    tags,
    summary: 'Show a broadcast',
    description: 'Includes what the encoder sends, the states of the restreams and current problems.',
    params: broadcastParams,
    response: { 200: ref(Broadcast) },
  }
  const path = '/live-streams/:liveStreamId/broadcasts/:broadcastId'
  app.get(path, { schema: showSchema }, ({ params, scope }) => findView(db, scope.environment, params))

  const retrySchema = {
    operationId: 'POST_live-streams-liveStreamId-broadcasts-broadcastId-retry',
    tags,
    summary: 'Retry failed recordings',
    description: 'Retries recordings that failed. Existing videos do not change.',
    params: broadcastParams,
    response: { 202: ref(Broadcast) },
  }
  app.post(`${path}/retry`, { schema: retrySchema }, async ({ params, scope }, reply) => {
    const { broadcastId } = await findView(db, scope.environment, params)
    await retryRecordings(context, broadcastId)
    return reply.code(202).send(await findView(db, scope.environment, params))
  })
}

const broadcastParams = Type.Object({
  ...liveStreamParams.properties,
  broadcastId: idField(store.broadcastPrefix, 'Id of the broadcast.'),
})

async function findView(
  db: Context['db'],
  environment: Environment,
  { liveStreamId, broadcastId }: Static<typeof broadcastParams>,
): Promise<Broadcast> {
  const id = checkLiveStreamId(liveStreamId)
  if (!(await findLiveStream(db, environment, id))) throw notFound('liveStreamId')
  const isBroadcastId = isId(store.broadcastPrefix, broadcastId)
  const row = isBroadcastId ? await store.findBroadcast(db, broadcastId) : undefined
  if (row?.live_stream_id !== id) throw notFound('broadcastId')
  return viewBroadcast(row, await listRecordings(db, [broadcastId]))
}

/** Older versions did not measure it. */
const withoutLink = { protocol: null, link: null }

const time = (date: Date | null) => date && formatTime(date)

function viewBroadcast(row: store.Broadcast, recordings: RecordingView[]): Broadcast {
  return {
    broadcastId: row.id,
    state: row.state,
    qualities: row.qualities,
    health: row.health && { ...withoutLink, ...(row.health as NonNullable<Broadcast['health']>) },
    restreams: row.restreams.map((each) => ({ ...each, since: formatTime(new Date(each.since)) })),
    recordings: recordings
      .filter(({ broadcast_id }) => broadcast_id === row.id)
      .map(({ state, reason, videoId }) => ({ state, reason, videoId })),
    startedAt: formatTime(row.started_at),
    visibleAt: time(row.visible_at),
    endedAt: time(row.ended_at),
  }
}
