import type { Context } from '../contracts/context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, nullable, oneOf, ref, text } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { readTime } from '../lib/time.ts'
import { type EventType, eventTypes, samples, textOf } from './events.ts'
import * as store from './log-store.ts'
import { getWebhook, webhookParams } from './routes.ts'
import {
  Delivery,
  DeliveryList,
  deliveryStates,
  EventList,
  readDeliveryId,
  viewDelivery,
  viewEvent,
} from './schemas.ts'

const time = (description: string) => text(40, { format: 'date-time', description })

/** What has happened, what has been sent of it, and sending it again. */
export function webhookLogRoutes(app: App, context: Context): void {
  const { db, now } = context

  app.get(
    '/events',
    {
      schema: {
        operationId: 'GET_events',
        tags: ['Events'],
        summary: 'List events',
        description:
          'All that happened in the last 30 days, the newest first, whether or not a webhook subscribes to it.',
        querystring: Type.Object({
          type: Type.Optional(oneOf(eventTypes, { description: 'Only events of this kind.' })),
          videoId: Type.Optional(text(100, { description: 'Only events of this video.' })),
          from: Type.Optional(time('Only events at this time or later.')),
          to: Type.Optional(time('Only events at this time or earlier.')),
          ...pageQuery,
        }),
        response: { 200: ref(EventList) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const { type, videoId, from, to } = query
      const filters: store.EventFilters = {
        ...(type !== undefined && { type }),
        ...(videoId !== undefined && { videoId }),
        ...(from !== undefined && { from: readTime(from, 'from', 'request-invalid-query-parameter') }),
        ...(to !== undefined && { to: readTime(to, 'to', 'request-invalid-query-parameter') }),
      }
      const { events, total } = await store.listEvents(db, scope.environment, filters, page)
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
        description: 'To every webhook that subscribes to it now, with the same body and id.',
        params: Type.Object({ eventId: Type.String({ description: 'Id of the event.' }) }),
        response: {
          202: Type.Object({ count: Type.Integer({ description: 'To how many webhooks it is sent.' }) }),
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

  app.get(
    '/webhooks/:webhookId/deliveries',
    {
      schema: {
        operationId: 'GET_webhooks-webhookId-deliveries',
        tags: ['Webhooks'],
        summary: 'List what was sent to a webhook',
        description: 'The newest first, each with its attempts and what the receiver answered.',
        params: webhookParams,
        querystring: Type.Object({
          state: Type.Optional(oneOf(deliveryStates, { description: 'Only deliveries in this state.' })),
          ...pageQuery,
        }),
        response: { 200: ref(DeliveryList) },
      },
    },
    async ({ params, query, scope }) => {
      const { id } = await getWebhook(context, scope.environment, params.webhookId)
      const page = readPage(query)
      const { deliveries, total } = await store.listDeliveries(db, id, query.state, page)
      return listResponse(`/webhooks/${id}/deliveries`, query, page, deliveries.map(viewDelivery), total)
    },
  )

  app.post(
    '/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-deliveries-deliveryId-redeliver',
        tags: ['Webhooks'],
        summary: 'Send a delivery again',
        description:
          'With the same body and id, in three attempts. One that is still pending goes on as it does.',
        params: Type.Object({
          ...webhookParams.properties,
          deliveryId: Type.String({ description: 'Id of the delivery.' }),
        }),
        response: { 202: ref(Delivery) },
      },
    },
    async ({ params, scope }, reply) => {
      const webhook = await getWebhook(context, scope.environment, params.webhookId)
      const id = readDeliveryId(params.deliveryId)
      const delivery = !Number.isNaN(id) && (await again(webhook.id, id))
      if (!delivery) throw notFound('deliveryId')
      return reply.code(202).send(viewDelivery(delivery))
    },
  )

  const again = (webhookId: string, id: number) =>
    db.transaction().execute(async (trx) => {
      await store.redeliver(trx, webhookId, id)
      return store.findDelivery(trx, webhookId, id)
    })

  app.post(
    '/webhooks/:webhookId/redeliver',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-redeliver',
        tags: ['Webhooks'],
        summary: 'Send all failed deliveries again',
        params: webhookParams,
        body: Type.Object({ since: time('Those of events at this time or later.') }),
        response: {
          202: Type.Object({ count: Type.Integer({ description: 'How many are sent again.' }) }),
        },
      },
    },
    async ({ params, body, scope }, reply) => {
      const { id } = await getWebhook(context, scope.environment, params.webhookId)
      const since = readTime(body.since, 'since', 'invalid-attribute')
      const count = await db.transaction().execute((trx) => store.redeliverFailed(trx, id, since))
      return reply.code(202).send({ count })
    },
  )

  app.post(
    '/webhooks/:webhookId/test',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-test',
        tags: ['Webhooks'],
        summary: 'Send a sample to a webhook',
        description: 'It is delivered and logged like an event; the header `webhook-id` begins with `test_`.',
        params: webhookParams,
        body: nullable(
          Type.Object({
            event: Type.Optional(
              oneOf(eventTypes, { description: 'The kind; by default the first that it subscribes to.' }),
            ),
          }),
        ),
        response: { 202: ref(Delivery) },
      },
    },
    async ({ params, body, scope }, reply) => {
      const webhook = await getWebhook(context, scope.environment, params.webhookId)
      const type = body?.event ?? (webhook.events[0] as EventType)
      const at = now()
      const event = { id: newId('test_'), type, payload: textOf(type, samples[type], at), now: at }
      const delivery = await db.transaction().execute(async (trx) => {
        const id = await store.insertTest(trx, webhook, event)
        return store.findDelivery(trx, webhook.id, id)
      })
      if (!delivery) throw new Error('a delivery vanished in the transaction that made it')
      return reply.code(202).send(viewDelivery(delivery))
    },
  )
}
