import type { Context } from '../context.ts'
import { httpErrors, notFound } from '../lib/errors.ts'
import { timeInput } from '../lib/fields.ts'
import { type App, nullable, oneOf, ref } from '../lib/http.ts'
import { newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { readTime } from '../lib/time.ts'
import { eventRoutes } from './event-routes.ts'
import { type EventType, eventBody, eventTypes, samples } from './events.ts'
import * as store from './log-store.ts'
import { getWebhook, webhookParams } from './routes.ts'
import {
  Delivery,
  DeliveryDetails,
  DeliveryList,
  deliveryStates,
  readDeliveryId,
  viewDelivery,
  viewDetails,
} from './schemas.ts'

/** Event log, delivery log and redelivery. */
export function webhookLogRoutes(app: App, context: Context): void {
  eventRoutes(app, context)
  listRoute(app, context)
  showRoute(app, context)
  redeliverRoutes(app, context)
  testRoute(app, context)
}

function listRoute(app: App, { db }: Context): void {
  app.get(
    '/webhooks/:webhookId/deliveries',
    {
      schema: {
        operationId: 'GET_webhooks-webhookId-deliveries',
        tags: ['Webhooks'],
        summary: 'List the deliveries of a webhook',
        description: 'Newest first, each with its attempts and the responses of the receiver.',
        params: webhookParams,
        querystring: Type.Object({
          state: Type.Optional(
            oneOf(deliveryStates, { description: 'Only deliveries in this state.', examples: ['failed'] }),
          ),
          ...pageQuery,
        }),
        response: { 200: ref(DeliveryList) },
      },
    },
    async ({ params, query, read, scope }) => {
      const { id } = await getWebhook(db, scope.environment, params.webhookId)
      const page = readPage(query)
      const { deliveries, total } = await read((db) => store.listDeliveries(db, id, query.state, page))
      return listResponse(`/webhooks/${id}/deliveries`, query, page, deliveries.map(viewDelivery), total)
    },
  )
}

const deliveryParams = Type.Object({
  ...webhookParams.properties,
  deliveryId: Type.String({ description: 'Id of the delivery.', examples: ['delivery_17'] }),
})

function showRoute(app: App, { db }: Context): void {
  app.get(
    '/webhooks/:webhookId/deliveries/:deliveryId',
    {
      schema: {
        operationId: 'GET_webhooks-webhookId-deliveries-deliveryId',
        tags: ['Webhooks'],
        summary: 'Show a delivery',
        description: 'Shows the request, the attempts and the responses of the receiver.',
        params: deliveryParams,
        response: { 200: ref(DeliveryDetails) },
      },
    },
    async ({ params, scope }) => {
      const webhook = await getWebhook(db, scope.environment, params.webhookId)
      const id = readDeliveryId(params.deliveryId)
      const delivery = id === undefined ? undefined : await store.findDelivery(db, webhook.id, id)
      const body = delivery && (await store.findBody(db, delivery.event_id))
      if (!delivery || body === undefined) throw notFound('deliveryId')
      return viewDetails(delivery, webhook, body)
    },
  )
}

function redeliverRoutes(app: App, { db }: Context): void {
  app.post(
    '/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-deliveries-deliveryId-redeliver',
        tags: ['Webhooks'],
        summary: 'Redeliver a delivery',
        description:
          'Sends the same body and id again, in up to three attempts. A delivery that is still pending does not change.',
        params: deliveryParams,
        response: { 202: ref(Delivery) },
      },
    },
    async ({ params, scope }, reply) => {
      const webhook = await getWebhook(db, scope.environment, params.webhookId)
      const id = readDeliveryId(params.deliveryId)
      if (id === undefined) throw notFound('deliveryId')
      const delivery = await db.transaction().execute(async (trx) => {
        await store.redeliver(trx, webhook.id, id)
        return store.findDelivery(trx, webhook.id, id)
      })
      if (!delivery) throw notFound('deliveryId')
      return reply.code(202).send(viewDelivery(delivery))
    },
  )

  app.post(
    '/webhooks/:webhookId/redeliver',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-redeliver',
        tags: ['Webhooks'],
        summary: 'Redeliver all failed deliveries',
        description: 'Sends the same bodies and ids again, each in up to three attempts.',
        params: webhookParams,
        body: Type.Object({ since: timeInput('Deliveries of events at this time or later.') }),
        response: {
          202: Type.Object({
            count: Type.Integer({ description: 'Number of deliveries that are sent again.', examples: [3] }),
          }),
        },
      },
    },
    async ({ params, body, scope }, reply) => {
      const { id } = await getWebhook(db, scope.environment, params.webhookId)
      const since = readTime(body.since, 'since', httpErrors.invalidAttribute)
      const count = await db.transaction().execute((trx) => store.redeliverFailed(trx, id, since))
      return reply.code(202).send({ count })
    },
  )
}

function testRoute(app: App, { db, now }: Context): void {
  app.post(
    '/webhooks/:webhookId/test',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-test',
        tags: ['Webhooks'],
        summary: 'Send a test event to a webhook',
        description:
          'Delivers and logs a sample like a real event. The header `webhook-id` begins with `test_`.',
        params: webhookParams,
        body: nullable(
          Type.Object({
            event: Type.Optional(
              oneOf(eventTypes, {
                description: 'Event type; by default the first one that the webhook subscribes to.',
                examples: ['video.encoding.quality.completed'],
              }),
            ),
          }),
        ),
        response: { 202: ref(Delivery) },
      },
    },
    async ({ params, body, scope }, reply) => {
      const webhook = await getWebhook(db, scope.environment, params.webhookId)
      const type = body?.event ?? (webhook.events[0] as EventType)
      const at = now()
      const event = { id: newId('test_'), type, payload: eventBody(type, samples[type], at), now: at }
      const delivery = await db.transaction().execute(async (trx) => {
        const id = await store.insertTest(trx, webhook, event)
        return store.findDelivery(trx, webhook.id, id)
      })
      if (!delivery) throw new Error('the new delivery is missing in its own transaction')
      return reply.code(202).send(viewDelivery(delivery))
    },
  )
}
