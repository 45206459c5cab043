import { defineCounter } from '../lib/metrics.ts'

export const transcriptFailures = defineCounter({
  name: 'kinora_transcript_failures_total',
  help: 'Transcripts and generated summaries that failed for good',
  labels: { kind: ['transcript', 'summary'] },
})
