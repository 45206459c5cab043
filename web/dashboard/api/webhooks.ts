import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { Delivery, DeliveryDetails, Webhook } from './schemas.ts'
import type { Page } from './types.ts'

export type { Delivery, DeliveryDetails, Webhook }
export type EventType = Webhook['events'][number]
export type DeliveryState = Delivery['state']
export type Attempt = Delivery['attempts'][number]

/** In the order of the form. messages.webhooks.events explains them. */
export const eventTypes = [
  'video.encoding.completed',
  'video.encoding.failed',
  'video.encoding.quality.completed',
  'video.source.recorded',
  'live-stream.broadcast.started',
  'live-stream.broadcast.ended',
  'video.caption.generated',
  'video.summary.generated',
] as const satisfies EventType[]

export const deliveryStates: DeliveryState[] = ['pending', 'succeeded', 'failed']

export const webhooksQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'webhooks', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<Webhook>>(environment, 'GET', '/webhooks', {
        query: { currentPage: pageParam, pageSize: 100 },
        signal,
      }),
  })

export const webhookQuery = (environment: Environment, webhookId: string) =>
  queryOptions({
    queryKey: [environment, 'webhooks', webhookId],
    queryFn: ({ signal }) => loadWebhook(environment, webhookId, signal),
  })

export const deliveriesQuery = (
  environment: Environment,
  webhookId: string,
  state: DeliveryState | undefined,
) =>
  infiniteQueryOptions({
    queryKey: [environment, 'deliveries', 'list', webhookId, state ?? 'all'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<Delivery>>(environment, 'GET', `${pathOf(webhookId)}/deliveries`, {
        query: { state, currentPage: pageParam, pageSize: 25 },
        signal,
      }),
  })

/** The server reports changes of deliveries with the id of their webhook. */
export const deliveryQuery = (environment: Environment, { webhookId, deliveryId }: Delivery) =>
  queryOptions({
    queryKey: [environment, 'deliveries', webhookId, deliveryId],
    queryFn: ({ signal }) =>
      api<DeliveryDetails>(
        environment,
        'GET',
        `${pathOf(webhookId)}/deliveries/${encodeURIComponent(deliveryId)}`,
        { signal },
      ),
  })

const pathOf = (webhookId: string) => `/webhooks/${encodeURIComponent(webhookId)}`

export type WebhookInput = { url: string; events: EventType[] }

export const createWebhook = (environment: Environment, body: WebhookInput) =>
  api<Webhook>(environment, 'POST', '/webhooks', { body })

const loadWebhook = (environment: Environment, webhookId: string, signal?: AbortSignal) =>
  api<Webhook>(environment, 'GET', pathOf(webhookId), { signal })

export const changeWebhook = (environment: Environment, webhookId: string, body: Partial<WebhookInput>) =>
  api<Webhook>(environment, 'PATCH', pathOf(webhookId), { body })

export const deleteWebhook = (environment: Environment, webhookId: string) =>
  api<void>(environment, 'DELETE', pathOf(webhookId))

export const rotateSecret = (environment: Environment, webhookId: string, validForSeconds: number) =>
  api<Webhook>(environment, 'POST', `${pathOf(webhookId)}/rotate-secret`, { body: { validForSeconds } })

export const sendTest = (environment: Environment, webhookId: string, event: EventType) =>
  api<Delivery>(environment, 'POST', `${pathOf(webhookId)}/test`, { body: { event } })

export const redeliver = (environment: Environment, { webhookId, deliveryId }: Delivery) =>
  api<Delivery>(environment, 'POST', `${pathOf(webhookId)}/deliveries/${deliveryId}/redeliver`)

export const redeliverFailed = (environment: Environment, webhookId: string, since: Date) =>
  api<{ count: number }>(environment, 'POST', `${pathOf(webhookId)}/redeliver`, {
    body: { since: since.toISOString() },
  })
