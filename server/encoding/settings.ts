import { availableParallelism } from 'node:os'
import { duration, integer, onOff, type ReadValues, setting } from '../lib/settings.ts'

export const encodingSettings = {
  encodeSlots: setting({
    name: 'KINORA_ENCODE_SLOTS',
    default: String(availableParallelism()),
    meaning: 'Number of chunks that this process encodes at the same time.',
    read: integer(1, 1024),
  }),
  copiesSources: setting({
    name: 'KINORA_COPY_SOURCES',
    default: 'on',
    meaning:
      'Whether H.264 video and AAC audio that every device plays is copied as the highest quality instead of being encoded again.',
    read: onOff,
  }),
  encodesDuringUpload: setting({
    name: 'KINORA_ENCODE_DURING_UPLOAD',
    default: 'on',
    meaning:
      'Whether a source is encoded while it is still being uploaded or fetched, if the files are on a disk. See docs/encoding.md.',
    read: onOff,
  }),
  playsDuringUpload: setting({
    name: 'KINORA_PLAY_DURING_UPLOAD',
    default: 'on',
    meaning:
      'Whether viewers may watch a video before its upload is complete. Applies to videos whose `playableDuringUpload` is null, and not to uploads with an upload token, which nobody may watch before.',
    read: onOff,
  }),
  encodeStallMs: setting({
    name: 'KINORA_ENCODE_STALL_SECONDS',
    default: '60',
    meaning:
      'An ffmpeg process that uses no CPU time and makes no progress for this many seconds is killed, and its chunk is retried.',
    read: duration(1, 3_600, 1_000),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof encodingSettings> {}
}
