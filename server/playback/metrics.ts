import { defineCounter } from '../lib/metrics.ts'

/** HLS and MP4 of videos, HLS of live streams, thumbnails and sprites, captions and chapters, and sources for their owner. */
const mediaKinds = ['hls', 'mp4', 'live', 'image', 'captions', 'source'] as const
export type SentKind = (typeof mediaKinds)[number]

/** Counted while they are sent: players often end the request for an MP4 long before its end. */
export const sentBytes = defineCounter({
  name: 'kinora_sent_bytes_total',
  help: 'Bytes of response bodies by kind, without those that nginx or an S3 store sends',
  labels: { kind: [...mediaKinds, 'other'] },
})
