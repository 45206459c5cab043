import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { eventTypes } from './events.ts'
import type { Delivery as DeliveryRecord, Event as EventRecord } from './log-store.ts'
import { standardSecret } from './sign.ts'
import type { WebhookRow } from './tables.ts'

/** A time in a request. */
export const timeInput = (description: string) => text(40, { format: 'date-time', description })

const time = (description: string) => Type.String({ format: 'date-time', description })

export const Webhook = Type.Object(
  {
    id: Type.String({ description: 'The same as `webhookId`.' }),
    webhookId: Type.String(),
    createdAt: time('When the webhook was created.'),
    events: Type.Array(oneOf(eventTypes)),
    url: Type.String({ description: 'URL that events are sent to.' }),
    signatureSecret: Type.String({ description: 'Key of `X-Api-Video-Signature`.' }),
    standardSecret: Type.String({
      description: 'The same key in the format of Standard Webhooks libraries.',
    }),
    previousSecretValidUntil: nullable(
      time('After a rotation: until when deliveries are also signed with the previous secret.'),
    ),
  },
  { $id: 'Webhook' },
)

export const WebhookList = Type.Object(
  { data: Type.Array(ref(Webhook)), pagination: ref(Pagination) },
  { $id: 'WebhookList' },
)

export const viewWebhook = (row: WebhookRow, now: Date) => ({
  id: row.id,
  webhookId: row.id,
  createdAt: atom(row.created_at),
  events: row.events as typeof eventTypes,
  url: row.url,
  signatureSecret: row.secret,
  standardSecret: standardSecret(row.secret),
  previousSecretValidUntil: row.previous_until && row.previous_until > now ? atom(row.previous_until) : null,
})

export const deliveryStates = ['pending', 'succeeded', 'failed'] as const

const AttemptView = Type.Object({
  at: time('When the attempt began.'),
  durationMs: Type.Integer(),
  status: nullable(Type.Integer({ description: 'HTTP status of the response, if there was one.' })),
  answer: nullable(Type.String({ description: 'Beginning of the response body, at most 1 KiB.' })),
  error: nullable(Type.String({ description: 'Why the attempt failed.' })),
})

export const Delivery = Type.Object(
  {
    id: Type.String({ description: 'The same as `deliveryId`.' }),
    deliveryId: Type.String(),
    webhookId: Type.String(),
    eventId: Type.String({ description: 'Also sent as the header `webhook-id` of every attempt.' }),
    type: Type.String({ description: 'Type of the event.' }),
    state: oneOf(deliveryStates, { description: '`pending`: an attempt is running or scheduled.' }),
    createdAt: time('When the delivery was created.'),
    nextAttemptAt: nullable(time('When the next attempt is scheduled.')),
    attempts: Type.Array(AttemptView),
  },
  { $id: 'Delivery' },
)

export const DeliveryList = Type.Object(
  { data: Type.Array(ref(Delivery)), pagination: ref(Pagination) },
  { $id: 'DeliveryList' },
)

const deliveryPrefix = 'delivery_'

/** Returns undefined if it is not a valid id. */
export const readDeliveryId = (id: string) =>
  /^delivery_[1-9]\d{0,14}$/.test(id) ? Number(id.slice(deliveryPrefix.length)) : undefined

/** Times have milliseconds, because the log is used to check order and duration. */
export function viewDelivery(row: DeliveryRecord) {
  const deliveryId = `${deliveryPrefix}${row.id}`
  const isWaiting = row.state === 'pending' && row.lease_owner === null
  return {
    id: deliveryId,
    deliveryId,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    type: row.type,
    state: row.state,
    createdAt: row.created_at.toISOString(),
    nextAttemptAt: isWaiting ? row.next_at.toISOString() : null,
    attempts: row.attempts,
  }
}

export const Event = Type.Object(
  {
    id: Type.String({ description: 'The same as `eventId`.' }),
    eventId: Type.String(),
    type: Type.String(),
    emittedAt: time('When the event happened.'),
    payload: Type.Object({}, { additionalProperties: true, description: 'Body that webhooks receive.' }),
  },
  { $id: 'Event' },
)

export const EventList = Type.Object(
  { data: Type.Array(ref(Event)), pagination: ref(Pagination) },
  { $id: 'EventList' },
)

export const viewEvent = (row: EventRecord) => ({
  id: row.id,
  eventId: row.id,
  type: row.type,
  emittedAt: row.emitted_at.toISOString(),
  payload: row.payload,
})
