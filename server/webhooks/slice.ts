import type { Slice } from '../slice.ts'
import { webhookLogRoutes } from './delivery-log-routes.ts'
import { startDispatcher } from './dispatcher.ts'
import { webhooksErrors } from './errors.ts'
import { deliveriesChannel } from './event-store.ts'
import { deleteOldEvents } from './expire.ts'
import { attemptSeconds, deliveryDelay, deliveryResults } from './metrics.ts'
import { webhookRoutes } from './routes.ts'
import { Delivery, DeliveryDetails, DeliveryList, Event, EventList, Webhook, WebhookList } from './schemas.ts'

export const webhooks: Slice = {
  errors: webhooksErrors,
  metrics: [attemptSeconds, deliveryDelay, deliveryResults],
  schemas: [Webhook, WebhookList, Delivery, DeliveryDetails, DeliveryList, Event, EventList],
  routes(app, context) {
    webhookRoutes(app, context)
    webhookLogRoutes(app, context)
  },
  tasks: [{ name: 'delete old events', everyMs: 3_600_000, run: deleteOldEvents }],
  services: [
    (context) => {
      const { wake, close } = startDispatcher(context)
      return { channels: { [deliveriesChannel]: wake }, close }
    },
  ],
}
