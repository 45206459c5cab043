import { availableParallelism } from 'node:os'
import { duration, integer, setting } from '../lib/settings.ts'

export const encodingSettings = {
  encodeSlots: setting({
    name: 'KINORA_ENCODE_SLOTS',
    default: String(availableParallelism()),
    meaning: 'Number of chunks that this process encodes at the same time.',
    read: integer(1, 1024),
  }),
  encodeStallMs: setting({
    name: 'KINORA_ENCODE_STALL_SECONDS',
    default: '60',
    meaning:
      'An ffmpeg process that uses no CPU time and makes no progress for this many seconds is killed, and its chunk is retried.',
    read: duration(1, 3_600, 1_000),
  }),
}
