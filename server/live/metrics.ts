import { defineCounter } from '../lib/metrics.ts'

export const encoderConnections = defineCounter({
  name: 'kinora_live_connections_total',
  help: 'Connections of encoders that began a broadcast, or continued one after an interruption',
  labels: { kind: ['started', 'resumed'] },
})

export const encoderBytes = defineCounter({
  name: 'kinora_live_received_bytes_total',
  help: 'Bytes of audio and video that encoders sent',
  labels: {},
})

export const droppedFrames = defineCounter({
  name: 'kinora_live_dropped_frames_total',
  help: 'Frames that are missing between the frames that encoders sent',
  labels: {},
})

export const lostSeconds = defineCounter({
  name: 'kinora_live_lost_seconds_total',
  help: 'Seconds of broadcasts that could not be stored',
  labels: {},
})

export const recordings = defineCounter({
  name: 'kinora_live_recordings_total',
  help: 'Recordings of broadcasts that became a video, or failed for good',
  labels: { result: ['recorded', 'failed'] },
})

/** What is wrong with a broadcast. The owner of the live stream sees a sentence. */
export const problemKinds = [
  'start',
  'format',
  'key-frames',
  'audio',
  'pace',
  'link',
  'ladder',
  'store',
  'dropped',
] as const
export type ProblemKind = (typeof problemKinds)[number]
