import type { Transaction } from 'kysely'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Grid } from '../media/grid.ts'
import type { Sprites } from '../media/sprites.ts'
import type { Tables } from '../tables.ts'
import type { VideoUpdate } from './input-schemas.ts'
import type { Video, VideoTexts } from './schemas.ts'
import type { VideoStatus } from './status-schemas.ts'
import type { StoredVideo } from './store.ts'

/** What the slices above `videos` contribute to a video. `slices.ts` puts the parts together. */
export type VideoParts = {
  findIngestStatus(db: Db<Tables>, video: StoredVideo): Promise<VideoStatus['ingest']>
  findEncodingStatus(db: Db<Tables>, videoId: string): Promise<VideoStatus['encoding']>
  findTranscriptStatus(db: Db<Tables>, videoId: string): Promise<VideoStatus['transcript']>
  /** By video. One query for a page of a list. */
  findOverviews(db: Db<Tables>, videoIds: string[]): Promise<Map<string, VideoOverview>>
  /** By video. One query for a page of a list. */
  findTexts(db: Db<Tables>, videoIds: string[]): Promise<Map<string, VideoTexts>>
  /** Undefined if the payload asks for no transcript. Throws if it asks for what the operator has not configured. */
  readTranscriptRequest(config: Config, payload: TranscriptPayload): RequestTranscript | undefined
}

/** What a list shows of the work on a video. */
export type VideoOverview = {
  status: NonNullable<Video['status']>
  /** Null until the encoding is planned. */
  grid: Grid | null
  sprites: Sprites | null
}

export type TranscriptPayload = Pick<
  VideoUpdate,
  'transcript' | 'transcriptSummary' | 'transcriptSummaryAttributes'
>

/** Called in the transaction that stores the video. */
export type RequestTranscript = (
  trx: Transaction<Tables>,
  video: StoredVideo,
  request: { environment: Environment; now: Date },
) => Promise<void>

export type VideosContext = Context & { parts: VideoParts }
