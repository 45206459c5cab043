import { defineCounter, defineHistogram } from '../lib/metrics.ts'
import { attemptTimeoutMs } from './attempt.ts'
import type { Attempt } from './tables.ts'

const attemptResults = ['succeeded', 'rejected', 'unreachable'] as const

export const attemptSeconds = defineHistogram({
  name: 'kinora_webhook_attempt_seconds',
  help: 'Duration of requests to webhooks by result: rejected is a status other than 2xx, unreachable is no response',
  labels: { result: attemptResults },
  buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, attemptTimeoutMs / 1_000],
})

export const deliveryResults = defineCounter({
  name: 'kinora_webhook_deliveries_total',
  help: 'Deliveries to webhooks that succeeded, or failed after the last attempt',
  labels: { result: ['succeeded', 'failed'] },
})

export const deliveryDelay = defineHistogram({
  name: 'kinora_webhook_delay_seconds',
  help: 'Time from an event to the first request to a webhook',
  labels: {},
  buckets: [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600],
})

export function resultOf({ status, error }: Attempt): (typeof attemptResults)[number] {
  if (status === null) return 'unreachable'
  return error === null ? 'succeeded' : 'rejected'
}
