import type { Context } from '../contracts/context.ts'
import { invalid, notFound } from '../lib/errors.ts'
import { type App, ref, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { findMedia } from './media.ts'
import { readNamedPeriod } from './period.ts'
import type { Read } from './query-limits.ts'
import * as store from './session-reads.ts'
import { ViewingEventList, ViewingSessionList, viewSession } from './session-schemas.ts'

const periodQuery = {
  period: Type.Optional(
    text(40, {
      description:
        'When they were loaded: `2026`, `2026-01`, `2026-W01`, `2026-01-02` or `2026-01-02/2026-01-31`. All that are kept by default.',
    }),
  ),
}

const metadataQuery = (description: string) =>
  Type.Optional(
    Type.Record(Type.String(), text(2_000), {
      maxProperties: 100,
      propertyNames: { maxLength: 255, format: 'text' },
      description,
    }),
  )

const listQuery = Type.Object({
  ...periodQuery,
  metadata: metadataQuery('Pairs that they carry, all of them, as `metadata[key]=value`.'),
  ...pageQuery,
})

/** Who watched what, session by session, and forgetting it. */
export function sessionRoutes(app: App, { db }: Context, read: Read): void {
  app.get(
    '/analytics/videos/:videoId',
    {
      schema: {
        operationId: 'GET_analytics-videos-videoId',
        tags: ['Analytics'],
        summary: 'List the viewing sessions of a video',
        description: 'The newest first, each with its metadata and what was watched.',
        params: Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) }),
        querystring: listQuery,
        response: { 200: ref(ViewingSessionList) },
      },
    },
    async ({ params: { videoId }, query, scope }) => {
      const filters = readFilters(query)
      const media = isId('vi', videoId) && (await findMedia(db, [videoId])).get(videoId)
      if (!media || media.environment !== scope.environment) throw notFound('videoId')
      const page = readPage(query)
      const { sessions, total } = await read((trx) =>
        store.listSessions(trx, scope.environment, videoId, filters, page),
      )
      const isLengthKnown = media.durationSeconds !== undefined
      const items = sessions.map((session) => viewSession(session, isLengthKnown))
      return listResponse(`/analytics/videos/${videoId}`, query, page, items, total)
    },
  )

  app.get(
    '/analytics/live-streams/:liveStreamId',
    {
      schema: {
        operationId: 'GET_analytics-live-streams-liveStreamId',
        tags: ['Analytics'],
        summary: 'List the viewing sessions of a live stream',
        params: Type.Object({ liveStreamId: Type.String({ description: 'Id of the live stream.' }) }),
        querystring: listQuery,
        response: { 200: ref(ViewingSessionList) },
      },
    },
    async ({ query }) => {
      readFilters(query)
      // There are no live streams yet.
      throw notFound('liveStreamId')
    },
  )

  app.get(
    '/analytics/sessions/:sessionId/events',
    {
      schema: {
        operationId: 'GET_analytics-sessions-sessionId-events',
        tags: ['Analytics'],
        summary: 'List the events of a viewing session',
        description: 'In the order in which they happened.',
        params: Type.Object({ sessionId: Type.String({ description: 'Id of the session.' }) }),
        querystring: Type.Object(pageQuery),
        response: { 200: ref(ViewingEventList) },
      },
    },
    async ({ params: { sessionId }, query, scope }) => {
      const page = readPage(query)
      const found = await read((trx) => store.listEvents(trx, scope.environment, sessionId, page))
      if (!found) throw notFound('sessionId')
      const items = found.events.map((event) => ({
        type: event.type,
        emittedAt: event.emitted_at.toISOString(),
        ...(event.at !== null && { at: Math.round(event.at) }),
        ...(event.from_at !== null && { from: Math.round(event.from_at) }),
        ...(event.to_at !== null && { to: Math.round(event.to_at) }),
      }))
      return listResponse(`/analytics/sessions/${sessionId}/events`, query, page, items, found.total)
    },
  )

  app.delete(
    '/analytics/sessions',
    {
      schema: {
        operationId: 'DELETE_analytics-sessions',
        tags: ['Analytics'],
        summary: 'Forget a viewer',
        description:
          'Deletes all sessions that carry the pairs, with their events. There is no way back. A player that is still open reports anew: ask again once it is closed.',
        querystring: Type.Object({
          metadata: metadataQuery(
            'Pairs that they carry, all of them, as `metadata[key]=value`; at least one.',
          ),
        }),
        response: {
          200: Type.Object({ deleted: Type.Integer({ description: 'How many sessions there were.' }) }),
        },
      },
    },
    async ({ query: { metadata }, scope }) => {
      if (!metadata || Object.keys(metadata).length === 0) {
        const title = 'Say whom to forget, as metadata[key]=value.'
        throw invalid([{ slug: 'attribute-required', title, name: 'metadata' }])
      }
      return { deleted: await store.forgetSessions(db, { environment: scope.environment, metadata }) }
    },
  )
}

function readFilters({ period, metadata }: Static<typeof listQuery>): store.SessionFilters {
  return {
    ...(period !== undefined && { period: readNamedPeriod(period) }),
    ...(metadata !== undefined && { metadata }),
  }
}
