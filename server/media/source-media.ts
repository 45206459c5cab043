export type Rational = { num: number; den: number }

export type VideoStream = {
  /** The index of the stream in the file. */
  index: number
  codec: string
  /** The displayed size: rotated, with square pixels. */
  width: number
  height: number
  /** The constant frame rate that the video is encoded at, at most 60. */
  rate: Rational
  /** Frames per second according to the file. */
  sourceRate: number
  isInterlaced: boolean
  /** Whether ffmpeg has to rotate or mirror it. */
  isTurned?: boolean
  /** The matrix between YUV and RGB, if the file declares one. */
  colorMatrix?: 'bt601' | 'bt709' | 'bt2020'
  dynamicRange: 'sdr' | 'pq' | 'hlg'
  /** For PQ: the brightest level in the video, if the file declares one. */
  peakNits?: number
}

export type AudioStream = {
  /** The index of the stream in the file. */
  index: number
  codec: string
  sampleRate: number
  channels: number
  layout?: string
  /** The start of the stream, if the file counts time in milliseconds, which are longer than samples. */
  coarseStartSeconds?: number
}

/** The properties of a source. Stored as JSON: `picture` is the video stream, `sound` the audio stream. */
export type SourceMedia = {
  container: string
  durationSeconds: number | undefined
  bitrateKbps: number | undefined
  picture: VideoStream | undefined
  sound: AudioStream | undefined
}
