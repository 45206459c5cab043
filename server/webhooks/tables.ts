import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'

/** Something that happened, as it is told. */
export type EventRow = {
  position: Generated<number>
  id: string
  environment: Environment
  type: string
  video_id: string | null
  payload: ColumnType<Record<string, unknown>, string, never>
  emitted_at: Date
  /** Made to try a webhook; nothing happened. */
  is_test: Generated<boolean>
}

export type WebhookRow = {
  id: string
  environment: Environment
  url: string
  events: string[]
  secret: string
  /** Signs too, until then. */
  previous_secret: string | null
  previous_until: Date | null
  created_at: Date
}

export type DeliveryState = 'pending' | 'succeeded' | 'failed'

/** One request to a receiver, and what came of it. */
export type Attempt = {
  at: string
  durationMs: number
  status: number | null
  /** The beginning of its body. */
  answer: string | null
  error: string | null
}

/** One event on its way to one webhook. */
export type DeliveryRow = {
  id: Generated<number>
  webhook_id: string
  event_id: string
  /** The video or live stream that the event is about. */
  subject: string | null
  state: Generated<DeliveryState>
  /** Attempts since it was asked for, or asked for again. */
  tries: Generated<number>
  attempts: Generated<Attempt[]>
  /** When the next attempt is due; while one is under way, when its worker counts as gone. */
  next_at: Generated<Date>
  holder: string | null
  created_at: Date
}

export type WebhooksTables = {
  events: EventRow
  webhooks: WebhookRow
  deliveries: DeliveryRow
}
