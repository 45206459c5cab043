import type { Context } from '../context.ts'
import { httpErrors, invalid, notFound } from '../lib/errors.ts'
import { idField, sessionIdField } from '../lib/fields.ts'
import { type App, ref, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { readPeriod } from './data-query.ts'
import { periodQuery } from './data-schemas.ts'
import { deleteSessions } from './delete-sessions.ts'
import { findMedia } from './media-store.ts'
import { readNamedPeriod } from './period.ts'
import * as store from './session-query-store.ts'
import {
  ViewerSessionList,
  ViewingEventList,
  ViewingSessionList,
  viewEvent,
  viewSession,
  viewViewerSession,
} from './session-schemas.ts'

const metadataQuery = (description: string) =>
  Type.Optional(
    Type.Record(Type.String(), text(2_000), {
      maxProperties: 100,
      propertyNames: { maxLength: 255, format: 'text' },
      description,
      examples: [{ viewer: 'user-17' }],
    }),
  )

const pairsQuery = metadataQuery('Key-value pairs that the sessions must all have, as `metadata[key]=value`.')

const viewerQuery = metadataQuery(
  'Key-value pairs that the sessions must all have, as `metadata[key]=value`. At least one is required.',
)

const listQuery = Type.Object({
  period: Type.Optional(
    text(40, {
      description:
        'When the sessions were loaded: `2026`, `2026-01`, `2026-W01`, `2026-01-02` or `2026-01-02/2026-01-31`. By default all stored sessions.',
      examples: ['2026-11'],
    }),
  ),
  metadata: pairsQuery,
  ...pageQuery,
})

/** Individual sessions: who watched what, and the deletion of a viewer's data. */
export function sessionRoutes(app: App, context: Context): void {
  const { db } = context
  listRoutes(app, db)
  viewerRoute(app, context)
  eventsRoute(app)
  deleteRoute(app, db)
}

const mediaKinds = [
  { path: '/analytics/videos', id: 'videoId', prefix: 'vi', name: 'video', more: ' and the watched ranges' },
  {
    path: '/analytics/live-streams',
    id: 'liveStreamId',
    prefix: 'li',
    name: 'live stream',
    more: '. Positions are seconds of the broadcast',
  },
] as const

function listRoutes(app: App, db: Context['db']): void {
  for (const { path, id, prefix, name, more } of mediaKinds) {
    app.get(
      `${path}/:${id}`,
      {
        schema: {
          operationId: `GET_${path.slice(1).replace('/', '-')}-${id}`,
          tags: ['Analytics'],
          summary: `List the viewing sessions of a ${name}`,
          description: `Newest first, each with its metadata${more}.`,
          params: Type.Object({ [id]: idField(prefix, `Id of the ${name}.`) }),
          querystring: listQuery,
          response: { 200: ref(ViewingSessionList) },
        },
      },
      async ({ params, query, read, scope: { environment } }) => {
        const mediaId = (params as Record<string, string>)[id] ?? ''
        const filters = readFilters(query)
        const media = isId(prefix, mediaId) && (await findMedia(db, [mediaId])).get(mediaId)
        if (!media || media.environment !== environment) throw notFound(id)
        const page = readPage(query)
        const { sessions, total } = await read((db) =>
          store.listSessions(db, { environment, mediaId }, filters, page),
        )
        const isDurationKnown = media.durationSeconds !== undefined
        const items = sessions.map((session) => viewSession(session, isDurationKnown))
        return listResponse(`${path}/${mediaId}`, query, page, items, total)
      },
    )
  }
}

function viewerRoute(app: App, { db, config, now }: Context): void {
  app.get(
    '/analytics/sessions',
    {
      schema: {
        operationId: 'GET_analytics-sessions',
        tags: ['Analytics'],
        summary: 'List viewing sessions',
        'x-sample-parameters': ['metadata'],
        description:
          'The sessions of all videos and live streams, newest first. With `metadata`, only those with these key-value pairs, such as the sessions of one viewer.',
        querystring: Type.Object({ ...periodQuery, metadata: pairsQuery, ...pageQuery }),
        response: { 200: ref(ViewerSessionList) },
      },
    },
    async ({ query, read, scope: { environment } }) => {
      const { metadata } = query
      const period = readPeriod(query, now(), { defaultDays: 30, keptDays: config.analyticsDays })
      const page = readPage(query)
      const { sessions, total } = await read((db) =>
        metadata && Object.keys(metadata).length > 0
          ? store.listViewerSessions(db, { environment, period, metadata }, page)
          : store.listAllSessions(db, { environment, period }, page),
      )
      const media = await findMedia(
        db,
        sessions.map(({ media_id }) => media_id),
      )
      const items = sessions.map((session) =>
        viewViewerSession(session, media.get(session.media_id)?.durationSeconds !== undefined),
      )
      return listResponse('/analytics/sessions', query, page, items, total)
    },
  )
}

function eventsRoute(app: App): void {
  app.get(
    '/analytics/sessions/:sessionId/events',
    {
      schema: {
        operationId: 'GET_analytics-sessions-sessionId-events',
        tags: ['Analytics'],
        summary: 'List the events of a viewing session',
        description: 'In chronological order.',
        params: Type.Object({ sessionId: sessionIdField('Id of the session.') }),
        querystring: Type.Object(pageQuery),
        response: { 200: ref(ViewingEventList) },
      },
    },
    async ({ params: { sessionId }, query, read, scope }) => {
      const page = readPage(query)
      const found = await read((db) => store.listEvents(db, scope.environment, sessionId, page))
      if (!found) throw notFound('sessionId')
      const items = found.events.map(viewEvent)
      return listResponse(`/analytics/sessions/${sessionId}/events`, query, page, items, found.total)
    },
  )
}

function deleteRoute(app: App, db: Context['db']): void {
  app.delete(
    '/analytics/sessions',
    {
      schema: {
        operationId: 'DELETE_analytics-sessions',
        tags: ['Analytics'],
        summary: 'Delete the sessions of a viewer',
        'x-sample-parameters': ['metadata'],
        description:
          'Permanently deletes all sessions with these key-value pairs, and their events. A player that is still open keeps reporting; repeat the request after it is closed.',
        querystring: Type.Object({
          metadata: viewerQuery,
        }),
        response: {
          200: Type.Object({
            deleted: Type.Integer({ description: 'Number of deleted sessions.', examples: [3] }),
          }),
        },
      },
    },
    async ({ query, scope: { environment } }) => {
      const metadata = readViewer(query.metadata)
      return { deleted: await deleteSessions(db, { environment, metadata }) }
    },
  )
}

function readViewer(metadata: Record<string, string> | undefined): Record<string, string> {
  if (metadata && Object.keys(metadata).length > 0) return metadata
  const title = 'Select the sessions of a viewer, as metadata[key]=value.'
  throw invalid([{ kind: httpErrors.attributeRequired, title, name: 'metadata' }])
}

function readFilters({ period, metadata }: Static<typeof listQuery>): store.SessionFilters {
  return {
    ...(period !== undefined && { period: readNamedPeriod(period) }),
    ...(metadata !== undefined && { metadata }),
  }
}
