// Written by `npm run openapi` from the schemas of openapi.json.

export type Pagination = {
  currentPage: number
  pageSize: number
  pagesTotal: number
  itemsTotal: number
  currentPageItems: number
  links: ({
    rel: string
    uri: string
  })[]
}

export type AccessToken = {
  token_type: string
  expires_in: number
  access_token: string
  refresh_token: string
}

export type Video = {
  id: string
  videoId: string
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4Support: boolean
  playableDuringUpload: boolean | null
  playerId: string | null
  tags: (string)[]
  metadata: ({
    key: string
    value: string
  })[]
  language: string | null
  languageOrigin: string | null
  source: {
    type: string
    uri: string
    liveStream?: {
      liveStreamId: string
      links: ({
        rel: string
        uri: string
      })[]
    }
  }
  assets: {
    hls: string
    iframe: string
    player: string
    thumbnail: string
    mp4?: string
    preview?: {
      vtt: string
      sheets: (string)[]
      tiles: number
      columns: number
      rows: number
      width: number
      height: number
      interval: number
    }
  } | null
  status?: {
    state: "missing" | "processing" | "ready" | "failed"
    playable: boolean
    duration: number | null
    width: number | null
    height: number | null
    thumbnailVersion: string | null
    failure?: string
  }
  texts?: {
    captions: (string)[]
    chapters: (string)[]
    summary: boolean
    version: string
  }
  createdAt: string
  updatedAt: string
  publishedAt: string
  discarded: boolean
  discardedAt: string | null
  deletesAt: string | null
}

export type VideoList = {
  data: (Video)[]
  pagination: Pagination
}

export type VideoStatus = {
  ingest: {
    status?: "uploading" | "uploaded" | "ingesting" | "ingested"
    failure?: string
    sourceDroppedAt?: string
    filesize: number | null
    receivedBytes: ({
      from: number
      to: number
      total: number | null
    })[]
    arrivingBytes?: {
      from: number
      to: number
      total: number | null
    }
    receivedParts: {
      parts: (number)[]
      total: number | null
    }
  } | null
  encoding: {
    playable: boolean
    qualities: ({
      type: "hls" | "mp4"
      quality: string
      status: "waiting" | "encoding" | "encoded" | "failed"
      progress?: number
      failure?: string
    })[]
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
  transcript: {
    status: "waiting" | "running" | "completed" | "failed" | "unprocessable"
    language: string | null
    progress: number
    failure?: string
  } | null
}

export type TagList = {
  data: ({
    value: string
    videoCount: number
  })[]
  pagination: Pagination
}

export type SigningKey = {
  id: string
  signingKeyId: string
  name: string
  algorithm: "ES256"
  createdAt: string
}

export type NewSigningKey = {
  id: string
  signingKeyId: string
  name: string
  algorithm: "ES256"
  createdAt: string
  privateKey: string
}

export type SigningKeyList = {
  data: (SigningKey)[]
  pagination: Pagination
}

export type Caption = {
  uri: string
  src: string
  srclang: string
  languageName: string
  default: boolean
}

export type CaptionList = {
  data: (Caption)[]
  pagination: Pagination
}

export type Chapter = {
  uri: string
  src: string
  language: string
}

export type ChapterList = {
  data: (Chapter)[]
  pagination: Pagination
}

export type UploadToken = {
  token: string
  ttl: number
  createdAt: string
  expiresAt: string | null
  videoId?: string
}

export type UploadTokenList = {
  data: (UploadToken)[]
  pagination: Pagination
}

export type Summary = {
  summaryId: string
  videoId: string
  origin: "api" | "auto"
  sourceStatus: "missing" | "waiting" | "failed" | "completed" | "unprocessable"
  failure?: string
  createdAt: string
  updatedAt: string
}

export type SummaryList = {
  data: (Summary)[]
  pagination: Pagination
}

export type SummarySource = {
  abstract: string
  takeaways: (string)[]
}

export type LiveStream = {
  liveStreamId: string
  name: string
  streamKey: string
  public: boolean
  record: boolean
  broadcasting: boolean
  playerId: string | null
  restreams: ({
    name: string
    serverUrl: string
    streamKey: string
  })[]
  metadata: ({
    key: string
    value: string
  })[]
  showViewers: boolean
  srtPassphrase: string | null
  assets: {
    hls: string
    iframe: string
    player: string
    thumbnail: string
  }
  lastRefusal: {
    at: string
    reason: string
  } | null
  createdAt: string
  updatedAt: string
}

export type LiveStreamList = {
  data: (LiveStream)[]
  pagination: Pagination
}

export type Broadcast = {
  broadcastId: string
  state: "live" | "away" | "ended"
  qualities: (string)[]
  health: {
    protocol: "rtmp" | "rtmps" | "srt" | "whip"
    codecs: string | null
    width: number | null
    height: number | null
    frameRate: number | null
    bitRate: number | null
    keyFrameInterval: number | null
    droppedFrames: number
    clockJumps: number
    link: {
      roundTrip: number | null
      packetLoss: number
      retransmittedPackets: number
      lostPackets: number
    } | null
    problems: (string)[]
  } | null
  restreams: ({
    name: string
    state: "connecting" | "live" | "retrying" | "stopped"
    reason: string | null
    since: string
    droppedFrames: number
  })[]
  recordings: ({
    state: "waiting" | "recorded" | "failed"
    reason: string | null
    videoId: string | null
  })[]
  startedAt: string
  visibleAt: string | null
  endedAt: string | null
}

export type BroadcastList = {
  data: (Broadcast)[]
  pagination: Pagination
}

export type StudioToken = {
  studioTokenId: string
  createdAt: string
  expiresAt: string
  isOpened: boolean
}

export type StudioTokenList = {
  data: (StudioToken)[]
  pagination: Pagination
}

export type NewStudioToken = {
  studioTokenId: string
  createdAt: string
  expiresAt: string
  isOpened: boolean
  token: string
  url: string
}

export type PlayerTheme = {
  id: string
  playerId: string
  name: string
  text: string
  link: string
  linkHover: string
  linkActive: string
  trackPlayed: string
  trackUnplayed: string
  trackBackground: string
  backgroundTop: string
  backgroundBottom: string
  backgroundText: string
  enableApi: boolean
  enableControls: boolean
  forceAutoplay: boolean
  hideTitle: boolean
  forceLoop: boolean
  assets: {
    logo: string | null
    link: string | null
  }
  createdAt: string
  updatedAt: string
}

export type PlayerThemeList = {
  data: (PlayerTheme)[]
  pagination: Pagination
}

export type Watermark = {
  watermarkId: string
  createdAt: string
}

export type WatermarkList = {
  data: (Watermark)[]
  pagination: Pagination
}

export type Webhook = {
  id: string
  webhookId: string
  createdAt: string
  events: ("live-stream.broadcast.started" | "live-stream.broadcast.ended" | "video.source.recorded" | "video.encoding.quality.completed" | "video.encoding.completed" | "video.encoding.failed" | "video.caption.generated" | "video.summary.generated")[]
  url: string
  signatureSecret: string
  standardSecret: string
  previousSecretValidUntil: string | null
}

export type WebhookList = {
  data: (Webhook)[]
  pagination: Pagination
}

export type Delivery = {
  id: string
  deliveryId: string
  webhookId: string
  eventId: string
  type: string
  state: "pending" | "succeeded" | "failed"
  createdAt: string
  nextAttemptAt: string | null
  attempts: ({
    at: string
    durationMs: number
    status: number | null
    answer: string | null
    error: string | null
  })[]
}

export type DeliveryDetails = {
  id: string
  deliveryId: string
  webhookId: string
  eventId: string
  type: string
  state: "pending" | "succeeded" | "failed"
  createdAt: string
  nextAttemptAt: string | null
  attempts: ({
    at: string
    durationMs: number
    status: number | null
    answer: string | null
    error: string | null
  })[]
  request: {
    url: string
    headers: Record<string, string>
    body: string
  }
}

export type DeliveryList = {
  data: (Delivery)[]
  pagination: Pagination
}

export type Event = {
  id: string
  eventId: string
  type: string
  emittedAt: string
  payload: Record<string, unknown>
}

export type EventList = {
  data: (Event)[]
  pagination: Pagination
}

export type ViewingSession = {
  session: {
    sessionId: string
    loadedAt: string
    endedAt: string
    metadata: ({
      key: string
      value: string
    })[]
  }
  location: {
    country: string | null
    city: string | null
  }
  referrer: {
    url: string | null
    medium: string
    source: string | null
    searchTerm: string | null
  }
  device: {
    type: string | null
    vendor: string | null
    model: string | null
  }
  os: {
    name: string | null
    shortname: string | null
    version: string | null
  }
  client: {
    type: string | null
    name: string | null
    version: string | null
  }
  watch: {
    plays: number
    seconds: number
    ranges: ({
      from: number
      to: number
    })[]
    completion: number | null
  }
}

export type ViewingSessionList = {
  data: (ViewingSession)[]
  pagination: Pagination
}

export type ViewerSession = {
  session: {
    sessionId: string
    loadedAt: string
    endedAt: string
    metadata: ({
      key: string
      value: string
    })[]
  }
  location: {
    country: string | null
    city: string | null
  }
  referrer: {
    url: string | null
    medium: string
    source: string | null
    searchTerm: string | null
  }
  device: {
    type: string | null
    vendor: string | null
    model: string | null
  }
  os: {
    name: string | null
    shortname: string | null
    version: string | null
  }
  client: {
    type: string | null
    name: string | null
    version: string | null
  }
  watch: {
    plays: number
    seconds: number
    ranges: ({
      from: number
      to: number
    })[]
    completion: number | null
  }
  media: {
    id: string
    type: "video" | "live-stream"
    title: string
  }
}

export type ViewerSessionList = {
  data: (ViewerSession)[]
  pagination: Pagination
}

export type ViewingEventList = {
  data: ({
    type: string
    emittedAt: string
    at?: number
    from?: number
    to?: number
  })[]
  pagination: Pagination
}

export type AggregatedMetric = {
  context: {
    metric: string
    aggregation?: "count" | "rate" | "total" | "average" | "sum"
    timeframe: {
      from?: string
      to?: string
    }
  }
  data: number
}

export type MetricBuckets = {
  context: {
    metric: string
    breakdown?: "media-id" | "media-type" | "continent" | "country" | "device-type" | "operating-system" | "browser"
    timeframe: {
      from?: string
      to?: string
    }
  }
  data: ({
    metricValue: number
    dimensionValue: string
  })[]
  pagination: Pagination
}

export type MetricSeries = {
  context: {
    metric: string
    interval: "minute" | "hour" | "day"
    timeframe: {
      from?: string
      to?: string
    }
  }
  data: ({
    emittedAt: string
    metricValue: number
  })[]
  pagination: Pagination
}

export type MetadataKeys = {
  data: ({
    key: string
    sessions: number
    values: number
  })[]
  pagination: Pagination
  countedFrom: string | null
}

export type MetadataValues = {
  data: ({
    value: string
    sessions: number
    plays: number
    watchTime: number
    averageWatchTime: number
    completion: number | null
    lastSeenAt: string
  })[]
  pagination: Pagination
}

export type Retention = {
  videoId: string
  timeframe: {
    from: string
    to: string
  }
  sessions: number
  curve: ({
    from: number
    to: number
    share: number
    viewers: number
  })[]
  values?: ({
    value: string
    sessions: number
    curve: ({
      from: number
      to: number
      share: number
      viewers: number
    })[]
  })[]
}

export type PlayList = {
  data: ({
    value: string
    plays: number
  })[]
  pagination: Pagination
}

export type Import = {
  importId: string
  service: "api.video" | "kinora" | "mux" | "cloudflare" | "s3" | "urls" | "folder"
  account: string
  state: "running" | "ready" | "paused" | "completed" | "canceled" | "failed"
  failure?: string
  dryRun: boolean
  isListed: boolean
  waitsUntil: string | null
  keepIds: boolean
  include: ("captions" | "chapters" | "thumbnails" | "summaries" | "players" | "liveStreams" | "webhooks" | "views")[]
  concurrency: number
  bandwidth: number | null
  items: {
    waiting: number
    fetching: number
    encoding: number
    done: number
    failed: number
    skipped: number
  }
  videos: {
    count: number
    measured: number
    seconds: number
    bytes: number
    receivedBytes: number
  }
  disk: {
    needed: number
    free: number | null
  }
  estimatedSeconds: number | null
  createdAt: string
  updatedAt: string
  endedAt: string | null
}

export type ImportItem = {
  kind: "player" | "video" | "liveStream" | "webhook"
  sourceId: string
  title: string
  state: "waiting" | "fetching" | "encoding" | "done" | "failed" | "skipped"
  reason: string | null
  notes: (string)[]
  objectId: string | null
  bytes: number | null
  receivedBytes: number
  seconds: number | null
  updatedAt: string
}

export type ImportList = {
  data: (Import)[]
  pagination: Pagination
}

export type ImportItemList = {
  data: (ImportItem)[]
  pagination: Pagination
}

export type ReceivedItem = {
  state: "waiting" | "fetching" | "encoding" | "done" | "failed" | "skipped"
  reason: string | null
  notes: (string)[]
  objectId: string | null
}

export type Problem = {
  type: string
  title: string
  detail?: string
  name?: string
  status: number
  range?: {
    min?: number
    max?: number
  }
  problems?: ({
    type?: string
    title?: string
    name?: string
    status?: number
  })[]
}
