import type { StreamMessageKind } from '../../rtmp/client-session.ts'

/** A message of the encoder, on the timeline of the restream. */
export type SourceMessage = {
  kind: StreamMessageKind
  atMs: number
  payload: Buffer
  /** A decoder can begin with a `beginning`, once it has the headers. */
  role: 'header' | 'frame' | 'beginning'
}

const enhanced = 0x80
const keyFrame = 1
const avc = 7
const aac = 10

/** Whether the body of an FLV video tag is the configuration of the decoder. */
export function isVideoConfig(payload: Buffer): boolean {
  const first = payload[0] ?? 0
  return first & enhanced ? (first & 15) === 0 : (first & 15) === avc && payload[1] === 0
}

export const isKeyFrame = (payload: Buffer): boolean => (((payload[0] ?? 0) >> 4) & 7) === keyFrame

/** Whether the body of an FLV audio tag is the configuration of the decoder. */
export const isAudioConfig = (payload: Buffer): boolean => (payload[0] ?? 0) >> 4 === aac && payload[1] === 0
