/** The parts of the API's responses that the dashboard uses. */
export type Page<T> = {
  data: T[]
  pagination: { currentPage: number; pageSize: number; pagesTotal: number; itemsTotal: number }
}

export type Pair = { key: string; value: string }

export type Video = {
  videoId: string
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4Support: boolean
  playerId: string | null
  tags: string[]
  metadata: Pair[]
  language: string | null
  source: { type: string; uri: string; liveStream?: { liveStreamId: string } }
  assets: { hls: string; iframe: string; player: string; thumbnail: string; mp4?: string }
  createdAt: string
  updatedAt: string
  publishedAt: string
  discardedAt: string | null
  deletesAt: string | null
}

export type QualityStatus = {
  type: 'hls' | 'mp4'
  quality: string
  status: 'waiting' | 'encoding' | 'encoded' | 'failed'
  progress?: number
  failure?: string
}

export type VideoStatus = {
  ingest: {
    status?: 'uploading' | 'uploaded' | 'ingesting' | 'ingested'
    failure?: string
    filesize?: number | null
  }
  encoding: {
    playable: boolean
    qualities: QualityStatus[]
    metadata: {
      width: number | null
      height: number | null
      bitrate: number | null
      duration: number | null
      framerate: number | null
      samplerate: number | null
      videoCodec: string | null
      audioCodec: string | null
      aspectRatio: string | null
    }
  }
}

export type Session = {
  csrfToken: string
  mustChoosePassword: boolean
  /** Not for some minutes after a login by link. */
  needsCurrentPassword: boolean
  passwordIsSetting: boolean
  hasPassword: boolean
  version: string
  publicUrl: string
  rtmpUrl: string | null
  rtmpsUrl: string | null
  restoreHours: number
  expiresAt: string
}

export type ApiKey = {
  keyId: string
  name: string
  createdAt: string
  lastUsedAt: string | null
  /** The setting that contains it, if there is one. */
  setting: string | null
}
export type NewApiKey = ApiKey & { key: string }
