import type { ColumnType, Generated } from 'kysely'

export const environments = ['production', 'sandbox'] as const
export type Environment = (typeof environments)[number]

export type ApiKeyRow = {
  id: string
  environment: Environment
  name: string
  hash: Buffer
  created_at: Date
  revoked_at: Date | null
}

export type TokenRow = {
  hash: Buffer
  kind: 'access' | 'refresh'
  key_id: string
  expires_at: Date
}

export type Metadata = { key: string; value: string }
export type Clip = { startTimecode?: string; endTimecode?: string }

/** How the content of a video came, or will come: `reference` is an address, a video's id or a live stream's id. */
export type SourceType = 'upload' | 'url' | 'clone' | 'liveStream'

export type VideoRow = {
  id: string
  environment: Environment
  title: string
  description: string
  public: boolean
  panoramic: boolean
  mp4_support: boolean
  tags: string[]
  metadata: ColumnType<Metadata[], string, string>
  player_id: string | null
  language: string | null
  source_type: SourceType
  source_reference: string | null
  clip: ColumnType<Clip | null, string | null, never>
  created_at: Date
  updated_at: Date
  /** Hashes of the tags and of the metadata pairs: what the search index holds. */
  tag_terms: string[]
  metadata_terms: string[]
  /** The upload token that created it, if one did. */
  upload_token: string | null
}

export type VideoCountRow = { environment: Environment; tag: string; videos: number }
export type VideoCountChangeRow = { environment: Environment; tags: string[]; change: number }

export type UploadTokenRow = {
  token: string
  environment: Environment
  ttl: number
  created_at: Date
  expires_at: Date | null
  /** The only video that the token may fill; null: those that it creates itself. */
  video_id: string | null
}

export type SourceForm = 'whole' | 'bytes' | 'parts' | 'url' | 'clone'
export type SourceState = 'receiving' | 'received' | 'stored' | 'failed'

/** The content of a video: how it comes and what of it has come. */
export type SourceRow = {
  video_id: string
  form: SourceForm
  /** Of bytes or of parts, once known. */
  total: number | null
  /** In bytes, once all has come. */
  size: number | null
  /** Where the file store keeps what has come. */
  handle: string
  state: SourceState
  failure: string | null
  token: string | null
  filename: string | null
  address: string | null
  /** The key or upload token that began the upload. */
  created_by: string | null
  /** By which a server tells whether a file is still the same. */
  validator: string | null
  /** What a tus client wants to be told again; null: not a tus upload. */
  tus_metadata: string | null
  /** Sums of the pieces that have arrived. */
  received_pieces: number
  received_bytes: number
  /** The tus request that may write, until when unless renewed, and whether another one waits for it. */
  lock_holder: string | null
  lock_until: Date | null
  lock_wanted: boolean
  created_at: Date
  updated_at: Date
}

/** One piece of a source. While it is written it has a holder and no place. */
export type SourcePieceRow = {
  video_id: string
  position: number
  size: number
  place: string | null
  holder: string | null
  held_until: Date | null
}

/** Something that happened, as it is told. */
export type EventRow = {
  position: Generated<number>
  id: string
  environment: Environment
  type: string
  video_id: string | null
  payload: ColumnType<Record<string, unknown>, string, never>
  emitted_at: Date
  /** Made to try a webhook; nothing happened. */
  is_test: Generated<boolean>
}

export type WebhookRow = {
  id: string
  environment: Environment
  url: string
  events: string[]
  secret: string
  /** Signs too, until then. */
  previous_secret: string | null
  previous_until: Date | null
  created_at: Date
}

export type DeliveryState = 'pending' | 'succeeded' | 'failed'

/** One request to a receiver, and what came of it. */
export type Attempt = {
  at: string
  durationMs: number
  status: number | null
  /** The beginning of its body. */
  answer: string | null
  error: string | null
}

/** One event on its way to one webhook. */
export type DeliveryRow = {
  id: Generated<number>
  webhook_id: string
  event_id: string
  /** The video or live stream that the event is about. */
  subject: string | null
  state: Generated<DeliveryState>
  /** Attempts since it was asked for, or asked for again. */
  tries: Generated<number>
  attempts: Generated<Attempt[]>
  /** When the next attempt is due; while one is under way, when its worker counts as gone. */
  next_at: Generated<Date>
  holder: string | null
  created_at: Date
}

export type EncodingState = 'encoding' | 'encoded' | 'failed'

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

/** How a source is encoded. Fixed when the work begins, so that all workers do the same. */
export type EncodingPlan = {
  /** Of the file that is decoded: the source, or a copy in which one can seek. */
  key: string
  offsetSeconds: number
  rate: Rational
  frames: number
  rungs: { quality: string; width: number; height: number; maxKbps: number }[]
  hasSound: boolean
  isWatermarked: boolean
  /** The size of the source, in proportion to which it may cost CPU time. Plans of earlier versions have no limit. */
  sourceBytes?: number
}

export type EncodingRow = {
  video_id: string
  environment: Environment
  state: EncodingState
  /** Why nothing of it can be played. */
  failure: string | null
  sound_failure: string | null
  media: ColumnType<SourceMedia | null, string | null, never>
  plan: ColumnType<EncodingPlan | null, string | null, never>
  created_at: Date
  finished_at: Date | null
}

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

/** A run of segments that is to be encoded, of the sound or of some qualities. */
export type ChunkRow = {
  id: Generated<number>
  video_id: string
  environment: Environment
  track: 'picture' | 'sound'
  qualities: string[]
  first_segment: number
  segments: number
  /** The lowest first. */
  priority: number
  not_before: Date
  /** Who encodes it, until when unless renewed. */
  holder: string | null
  held_until: Date | null
  failures: Generated<number>
  losses: Generated<number>
}

/** Some segments, one after the other, each a file below the key. `rendition` is a quality or `sound`. */
export type SegmentsRow = {
  video_id: string
  rendition: string
  first_segment: number
  sizes: number[]
  key: string
}

/** Small pictures for scrubbing, many to a sheet; each is the first frame of a segment. */
export type Sprites = {
  /** How many segments each tile stands for. */
  everySegments: number
  tiles: number
  /** Of a sheet. */
  columns: number
  rows: number
  /** Of a tile. */
  width: number
  height: number
}

/** What is shown of a video before it plays, and while one seeks. */
export type PicturesRow = {
  video_id: string
  /** What the thumbnail is to be: a frame that was chosen here, one of a timecode, or a picture that was sent. */
  wish: 'automatic' | 'picked' | 'uploaded'
  timecode: string | null
  /** Counts wishes. */
  version: number
  /** Of the thumbnail that there is, perhaps still of a wish of before. */
  thumbnail_key: string | null
  /** Of a picture that is on its way into the store. */
  uploading_key: string | null
  sprites: ColumnType<Sprites | null, string | null, string | null>
  /** What the sheets' keys begin with. */
  sprites_key: string | null
}

/** What a player needs before a rendition's segments. */
export type InitializationRow = { video_id: string; rendition: string; codec: string; bytes: Buffer }

/** One viewing of a video or live stream: a page that was opened, and what came of it. */
export type ViewingSessionRow = {
  /** `ps`, the day in four letters, the rest: see the analytics slice. */
  id: string
  environment: Environment
  media_id: string
  media_type: 'video' | 'live-stream'
  /** By the server's clock. */
  loaded_at: Date
  /** Of the last report. */
  seen_at: Date
  /** Declared keys only. */
  metadata: ColumnType<Record<string, string>, string, string>
  /** Empty for none. */
  referrer: string
  country: string | null
  continent: string | null
  device_type: string | null
  device_vendor: string | null
  device_model: string | null
  os_name: string | null
  os_version: string | null
  browser_name: string | null
  browser_version: string | null
  /** Hash of day, user agent and address. */
  viewer: string
  /** From loading to being ready. */
  ready_ms: number | null
  plays: number
  first_played_at: Date | null
  ends: number
  /** All that was watched, repeats included. */
  watch_seconds: number
  /** Where it is, and while it plays: when it was there. */
  position: number | null
  playing_since: Date | null
  /** Whether the next play counts: it was loaded, and not played since. */
  awaits_play: boolean
  /** The time of its latest event: what comes later than that in spite of being older moves nothing. */
  event_at: Date
  /** Whole seconds that were seen at least once, as Postgres writes ranges: `{[0,5),[7,9)}`. */
  watched: string
  /** The same in hundredths of a video's length; none while that is not known. */
  parts: string
  /** Hashes of the last events, by which a report that comes again is told. */
  recent: number[]
}

/** Plays of the days whose sessions are no longer kept. */
export type PastPlaysRow = {
  media_id: string
  environment: Environment
  media_type: 'video' | 'live-stream'
  plays: number
}

export type ViewingEventRow = {
  session_id: string
  emitted_at: Date
  position: Generated<number>
  type: string
  at: number | null
  from_at: number | null
  to_at: number | null
}

/** Made once, known to every process. */
export type SecretRow = { name: string; value: Buffer }

/** A token of a private video that has been used, and by whom. */
export type PlaybackSessionRow = {
  token: string
  video_id: string
  /** What its viewer shows from then on. */
  session: string
  /** Hash of the viewer's address and user agent. */
  viewer: Buffer
  opened_at: Date
}

/** A key by which a customer signs playback tokens; the private half is the customer's alone. */
export type SigningKeyRow = {
  id: string
  environment: Environment
  name: string
  public_key: string
  created_at: Date
}

/** How the player looks and behaves, for the videos that name it. */
export type PlayerRow = {
  id: string
  environment: Environment
  name: string
  /** Colours and flags; what is missing is as by default. */
  style: ColumnType<Record<string, string | boolean>, string, string>
  logo: Buffer | null
  /** Its file's name, which changes with the content. */
  logo_name: string | null
  logo_link: string | null
  created_at: Date
  updated_at: Date
}

/** What the sweep of the file store remembers from run to run. */
export type SweepStateRow = { name: string; value: ColumnType<Record<string, string>, string, string> }

export type Tables = {
  api_keys: ApiKeyRow
  tokens: TokenRow
  videos: VideoRow
  video_counts: VideoCountRow
  video_count_changes: VideoCountChangeRow
  upload_tokens: UploadTokenRow
  sources: SourceRow
  source_pieces: SourcePieceRow
  events: EventRow
  webhooks: WebhookRow
  deliveries: DeliveryRow
  encodings: EncodingRow
  renditions: RenditionRow
  chunks: ChunkRow
  segments: SegmentsRow
  initializations: InitializationRow
  pictures: PicturesRow
  players: PlayerRow
  secrets: SecretRow
  playback_sessions: PlaybackSessionRow
  signing_keys: SigningKeyRow
  viewing_sessions: ViewingSessionRow
  viewing_events: ViewingEventRow
  past_plays: PastPlaysRow
  sweep_state: SweepStateRow
}
