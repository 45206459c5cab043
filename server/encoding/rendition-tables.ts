export type RenditionType = 'hls' | 'mp4'

export type RenditionState = 'waiting' | 'encoding' | 'encoded' | 'failed'

/** A quality of a video, as HLS or as MP4. */
export type RenditionRow = {
  video_id: string
  type: RenditionType
  quality: string
  /** Of the quality, for sorting. */
  height: number
  state: RenditionState
  failure: string | null
  /** The key of the MP4. Null for HLS, whose segments have keys of their own. */
  key: string | null
  /** The size of the MP4. Null for HLS, and for an MP4 made by a version that did not store it. */
  bytes: number | null
}

/** Consecutive segments, each a file below the key. `rendition` is a quality or `sound`. */
export type SegmentsRow = {
  video_id: string
  rendition: string
  first_segment: number
  sizes: number[]
  key: string
}

/** The initialization segment of a rendition. */
export type InitializationRow = { video_id: string; rendition: string; codec: string; bytes: Buffer }

export type RenditionsTables = {
  renditions: RenditionRow
  segments: SegmentsRow
  initializations: InitializationRow
}
