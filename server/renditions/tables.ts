export type RenditionType = 'hls' | 'mp4'

export type RenditionState = 'waiting' | 'encoding' | 'encoded' | 'failed'

/** A quality of a video as one kind of asset. */
export type RenditionRow = {
  video_id: string
  type: RenditionType
  quality: string
  /** Of the quality: what they are ordered by. */
  height: number
  state: RenditionState
  failure: string | null
  /** Of an MP4's file. */
  key: string | null
}

/** Some segments, one after the other, each a file below the key. `rendition` is a quality or `sound`. */
export type SegmentsRow = {
  video_id: string
  rendition: string
  first_segment: number
  sizes: number[]
  key: string
}

/** What a player needs before a rendition's segments. */
export type InitializationRow = { video_id: string; rendition: string; codec: string; bytes: Buffer }

export type RenditionsTables = {
  renditions: RenditionRow
  segments: SegmentsRow
  initializations: InitializationRow
}
