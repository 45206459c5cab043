import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'

/** An entry of the event log. */
export type EventRow = {
  position: Generated<number>
  id: string
  environment: Environment
  type: string
  video_id: string | null
  payload: ColumnType<Record<string, unknown>, string, never>
  emitted_at: Date
  /** Created by a test of a webhook. */
  is_test: Generated<boolean>
}

export type WebhookRow = {
  id: string
  environment: Environment
  url: string
  events: string[]
  secret: string
  /** Deliveries are also signed with this secret until `previous_until`. */
  previous_secret: string | null
  previous_until: Date | null
  created_at: Date
}

export type DeliveryState = 'pending' | 'succeeded' | 'failed'

/** One request to a receiver and its outcome. */
export type Attempt = {
  at: string
  durationMs: number
  status: number | null
  /** Beginning of the response body. */
  answer: string | null
  error: string | null
}

/** The delivery of one event to one webhook. */
export type DeliveryRow = {
  id: Generated<number>
  webhook_id: string
  event_id: string
  /** Id of the video or live stream of the event. */
  subject: string | null
  state: Generated<DeliveryState>
  /** Attempts since the delivery was created or last redelivered. */
  tries: Generated<number>
  attempts: Generated<Attempt[]>
  /** When the next attempt is due, or during an attempt: when the lease of its worker ends. */
  next_at: Generated<Date>
  /** Lease owner: identifies the worker that makes an attempt. */
  lease_owner: string | null
  created_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    events: EventRow
    webhooks: WebhookRow
    deliveries: DeliveryRow
  }
}
