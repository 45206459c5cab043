import type { Context } from '../context.ts'
import { httpErrors, notFound } from '../lib/errors.ts'
import { exampleId, idField, timeInput } from '../lib/fields.ts'
import { type App, oneOf, ref, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { readTime } from '../lib/time.ts'
import { eventTypes } from './events.ts'
import * as store from './log-store.ts'
import { EventList, viewEvent } from './schemas.ts'

const listQuery = Type.Object({
  type: Type.Optional(
    oneOf(eventTypes, {
      description: 'Only events of this type.',
      examples: ['video.encoding.quality.completed'],
    }),
  ),
  videoId: Type.Optional(
    text(100, { description: 'Only events of this video.', examples: [exampleId('vi')] }),
  ),
  liveStreamId: Type.Optional(
    text(100, { description: 'Only events of this live stream.', examples: [exampleId('li')] }),
  ),
  from: Type.Optional(timeInput('Only events at this time or later.')),
  to: Type.Optional(timeInput('Only events at this time or earlier.')),
  ...pageQuery,
})

/** The event log, and sending its events again. */
export function eventRoutes(app: App, { db, now }: Pick<Context, 'db' | 'now'>): void {
  app.get(
    '/events',
    {
      schema: {
        operationId: 'GET_events',
        tags: ['Events'],
        summary: 'List events',
        description:
          'All events of the last 30 days, newest first, whether or not a webhook subscribes to them.',
        querystring: listQuery,
        response: { 200: ref(EventList) },
      },
    },
    async ({ query, read, scope }) => {
      const page = readPage(query)
      const { events, total } = await read((db) =>
        store.listEvents(db, scope.environment, readFilters(query), page),
      )
      return listResponse('/events', query, page, events.map(viewEvent), total)
    },
  )

  app.post(
    '/events/:eventId/replay',
    {
      schema: {
        operationId: 'POST_events-eventId-replay',
        tags: ['Events'],
        summary: 'Send an event again',
        description: 'Sends it to every webhook that subscribes to it now, with the same body and id.',
        params: Type.Object({ eventId: idField('event_', 'Id of the event.') }),
        response: {
          202: Type.Object({
            count: Type.Integer({ description: 'Number of webhooks it is sent to.', examples: [1] }),
          }),
        },
      },
    },
    async ({ params, scope }, reply) => {
      const { eventId } = params
      const count = isId('event_', eventId)
        ? await db.transaction().execute((trx) => store.replay(trx, scope.environment, eventId, now()))
        : undefined
      if (count === undefined) throw notFound('eventId')
      return reply.code(202).send({ count })
    },
  )
}

function readFilters({
  type,
  videoId,
  liveStreamId,
  from,
  to,
}: Static<typeof listQuery>): store.EventFilters {
  return {
    ...(type !== undefined && { type }),
    ...(videoId !== undefined && { videoId }),
    ...(liveStreamId !== undefined && { liveStreamId }),
    ...(from !== undefined && { from: readTime(from, 'from', httpErrors.invalidQueryParameter) }),
    ...(to !== undefined && { to: readTime(to, 'to', httpErrors.invalidQueryParameter) }),
  }
}
