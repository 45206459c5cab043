import { nullable, oneOf, ref } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { eventTypes } from './events.ts'
import type { Delivery as DeliveryRecord, Event as EventRecord } from './log-store.ts'
import { standardSecret } from './sign.ts'
import type { WebhookRow } from './tables.ts'

const time = (description: string) => Type.String({ format: 'date-time', description })

export const Webhook = Type.Object(
  {
    id: Type.String({ description: 'The same as `webhookId`.' }),
    webhookId: Type.String(),
    createdAt: time('When it was created.'),
    events: Type.Array(oneOf(eventTypes)),
    url: Type.String({ description: 'Address that events are sent to.' }),
    signatureSecret: Type.String({ description: 'Key of `X-Api-Video-Signature`.' }),
    standardSecret: Type.String({
      description: 'The same key in the form of Standard Webhooks, for their libraries.',
    }),
    previousSecretValidUntil: nullable(
      time('After a rotation: until then the previous secret signs deliveries too.'),
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
  at: time('When it began.'),
  durationMs: Type.Integer(),
  status: nullable(Type.Integer({ description: 'Of the answer, if one came.' })),
  answer: nullable(Type.String({ description: 'The beginning of its body, at most 1 KiB.' })),
  error: nullable(Type.String({ description: 'Why the attempt failed.' })),
})

export const Delivery = Type.Object(
  {
    id: Type.String({ description: 'The same as `deliveryId`.' }),
    deliveryId: Type.String(),
    webhookId: Type.String(),
    eventId: Type.String({ description: 'The header `webhook-id` of every attempt.' }),
    type: Type.String({ description: 'Kind of the event.' }),
    state: oneOf(deliveryStates, { description: '`pending`: it is under way, or will be tried again.' }),
    createdAt: time('When the event happened.'),
    nextAttemptAt: nullable(time('When it is tried again.')),
    attempts: Type.Array(AttemptView),
  },
  { $id: 'Delivery' },
)

export const DeliveryList = Type.Object(
  { data: Type.Array(ref(Delivery)), pagination: ref(Pagination) },
  { $id: 'DeliveryList' },
)

const deliveryPrefix = 'delivery_'

/** NaN for what is no id of a delivery. */
export const readDeliveryId = (text: string) =>
  /^delivery_[1-9]\d{0,14}$/.test(text) ? Number(text.slice(deliveryPrefix.length)) : Number.NaN

/** Times to the millisecond: what is looked up here is in which order things went, and how long they took. */
export function viewDelivery(row: DeliveryRecord) {
  const deliveryId = `${deliveryPrefix}${row.id}`
  const isWaiting = row.state === 'pending' && row.holder === null
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
    emittedAt: time('When it happened.'),
    payload: Type.Object({}, { additionalProperties: true, description: 'What webhooks are sent.' }),
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
