import { fetchFailures } from '../lib/fetch/errors.ts'
import { defineCounter } from '../lib/metrics.ts'

export const receivedBytes = defineCounter({
  name: 'kinora_received_bytes_total',
  help: 'Bytes of videos that were received and stored, by the way they came: a request, tus, or fetched from a URL',
  labels: { method: ['request', 'tus', 'url'] },
})

/** `original`: the video to copy was deleted, or has no content. `missing`: a file that should exist. */
const causes = [...fetchFailures, 'not-allowed', 'status', 'content', 'original', 'missing', 'store'] as const
export type SourceFailure = (typeof causes)[number]

export const sourceFailures = defineCounter({
  name: 'kinora_source_failures_total',
  help: 'Videos whose file could not be fetched or stored, by cause',
  labels: { cause: causes },
})
