import { exampleId, exampleSecret, idField, timeField } from '../lib/fields.ts'
import { nullable, oneOf, ref } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { requestHeaders } from './attempt.ts'
import { eventTypes } from './events.ts'
import type { Delivery as DeliveryRecord, Event as EventRecord } from './log-store.ts'
import { standardSecret } from './sign.ts'
import type { WebhookRow } from './tables.ts'

/** The log has milliseconds. */
const logTime = (description: string) => timeField(description, '2026-11-16T09:30:00.000Z')

export const Webhook = Type.Object(
  {
    id: idField('webhook_', 'The same as `webhookId`.'),
    webhookId: idField('webhook_', 'Id of the webhook.'),
    createdAt: timeField('When the webhook was created.'),
    events: Type.Array(oneOf(eventTypes), {
      description: 'Event types that are sent to the URL.',
      examples: [['video.encoding.quality.completed']],
    }),
    url: Type.String({
      description: 'URL that events are sent to.',
      examples: ['https://example.com/webhooks'],
    }),
    signatureSecret: Type.String({
      description: 'Key of `X-Api-Video-Signature`.',
      examples: [exampleSecret],
    }),
    standardSecret: Type.String({
      description: 'The same key in the format of Standard Webhooks libraries.',
      examples: [standardSecret(exampleSecret)],
    }),
    previousSecretValidUntil: nullable(
      timeField('After a rotation: until when deliveries are also signed with the previous secret.'),
    ),
  },
  { $id: 'Webhook', description: 'A URL that receives events, and the secret that signs them.' },
)

export const WebhookList = listOf(ref(Webhook), 'WebhookList')

export const viewWebhook = (row: WebhookRow, now: Date) => ({
  id: row.id,
  webhookId: row.id,
  createdAt: formatTime(row.created_at),
  events: row.events as typeof eventTypes,
  url: row.url,
  signatureSecret: row.secret,
  standardSecret: standardSecret(row.secret),
  previousSecretValidUntil:
    row.previous_until && row.previous_until > now ? formatTime(row.previous_until) : null,
})

export const deliveryStates = ['pending', 'succeeded', 'failed'] as const

const AttemptView = Type.Object({
  at: logTime('When the attempt began.'),
  durationMs: Type.Integer({ description: 'How long it took, in milliseconds.', examples: [120] }),
  status: nullable(
    Type.Integer({ description: 'HTTP status of the response, if there was one.', examples: [200] }),
  ),
  answer: nullable(
    Type.String({ description: 'Beginning of the response body, at most 1 KiB.', examples: ['ok'] }),
  ),
  error: nullable(
    Type.String({ description: 'Why the attempt failed. Null if it succeeded.', examples: [null] }),
  ),
})

export const Delivery = Type.Object(
  {
    id: Type.String({ description: 'The same as `deliveryId`.', examples: ['delivery_17'] }),
    deliveryId: Type.String({ description: 'Id of the delivery.', examples: ['delivery_17'] }),
    webhookId: idField('webhook_', 'Id of the webhook.'),
    eventId: idField('event_', 'Also sent as the header `webhook-id` of every attempt.'),
    type: Type.String({
      description: 'Type of the event.',
      examples: ['video.encoding.quality.completed'],
    }),
    state: oneOf(deliveryStates, {
      description: '`pending`: an attempt is running or scheduled.',
      examples: ['succeeded'],
    }),
    createdAt: logTime('When the delivery was created.'),
    nextAttemptAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'When the next attempt is scheduled. Null if there is none.',
        examples: [null],
      }),
    ),
    attempts: Type.Array(AttemptView, { description: 'The attempts so far, in their order.' }),
  },
  { $id: 'Delivery', description: 'The delivery of an event to a webhook.' },
)

export const DeliveryDetails = Type.Object(
  {
    ...Delivery.properties,
    request: Type.Object(
      {
        url: Type.String({
          description: 'URL of the webhook. Earlier attempts used the URL that it had then.',
          examples: ['https://example.com/webhooks'],
        }),
        headers: Type.Record(Type.String(), Type.String(), {
          description: 'Headers of the last attempt, if there was one. Signatures are left out.',
          examples: [{ 'content-type': 'application/json', 'webhook-id': exampleId('event_') }],
        }),
        body: Type.String({
          description: 'The body, the same in every attempt.',
          examples: ['{"type":"live-stream.broadcast.started","liveStreamId":"li4blUQJFrYWbaG44NChkH27"}'],
        }),
      },
      { description: 'What is sent.' },
    ),
  },
  { $id: 'DeliveryDetails', description: 'The delivery of an event to a webhook, with the request.' },
)

export const DeliveryList = listOf(ref(Delivery), 'DeliveryList')

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

export function viewDetails(row: DeliveryRecord, webhook: WebhookRow, body: string) {
  const { id: webhookId, url, secret } = webhook
  const input = { webhookId, eventId: row.event_id, body: Buffer.from(body), secret, previousSecret: null }
  const last = row.attempts.at(-1)
  const headers = requestHeaders(input, new Date(last?.at ?? 0))
  const isHidden = (name: string) => name.includes('signature') || (!last && name === 'webhook-timestamp')
  const shown = Object.entries(headers).filter(([name]) => !isHidden(name))
  return { ...viewDelivery(row), request: { url, headers: Object.fromEntries(shown), body } }
}

export const Event = Type.Object(
  {
    id: idField('event_', 'The same as `eventId`.'),
    eventId: idField('event_', 'Id of the event.'),
    type: Type.String({
      description: 'Type of the event.',
      examples: ['video.encoding.quality.completed'],
    }),
    emittedAt: logTime('When the event happened.'),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Body that webhooks receive.',
        examples: [
          {
            type: 'video.encoding.quality.completed',
            emittedAt: '2026-11-16T09:30:00.000Z',
            videoId: exampleId('vi'),
            encoding: 'hls',
            quality: '720p',
          },
        ],
      },
    ),
  },
  { $id: 'Event', description: 'Something that happened, as webhooks report it.' },
)

export const EventList = listOf(ref(Event), 'EventList')

export const viewEvent = (row: EventRecord) => ({
  id: row.id,
  eventId: row.id,
  type: row.type,
  emittedAt: row.emitted_at.toISOString(),
  payload: row.payload,
})
