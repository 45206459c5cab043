export type Rational = { num: number; den: number }

export type Picture = {
  /** Of the stream. */
  index: number
  codec: string
  /** As displayed: rotated, with square pixels. */
  width: number
  height: number
  /** The constant rate that the video is put on: at most 60. */
  rate: Rational
  /** Frames a second as the file tells them. */
  sourceRate: number
  isInterlaced: boolean
  /** Whether ffmpeg has to turn or mirror it to show it. */
  isTurned?: boolean
  dynamicRange: 'sdr' | 'pq' | 'hlg'
  /** Of PQ: the brightest level in the video, where the file declares one. */
  peakNits?: number
}

export type Sound = {
  index: number
  codec: string
  sampleRate: number
  channels: number
  layout?: string
  /** When it begins, if the file counts time in milliseconds, which are longer than samples. */
  coarseStartSeconds?: number
}

/** What is known of a source. */
export type SourceMedia = {
  container: string
  durationSeconds: number | undefined
  bitrateKbps: number | undefined
  picture: Picture | undefined
  sound: Sound | undefined
}
