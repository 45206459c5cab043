import type { AccessTables } from './access/tables.ts'
import type { AccountsTables } from './accounts/tables.ts'
import type { AnalyticsTables } from './analytics/tables.ts'
import type { DashboardTables } from './dashboard/tables.ts'
import type { EncodingTables } from './encoding/tables.ts'
import type { LiveTables } from './live/tables.ts'
import type { LiveStreamsTables } from './live-streams/tables.ts'
import type { PlayersTables } from './players/tables.ts'
import type { SweepTables } from './sweep/tables.ts'
import type { TextTracksTables } from './text-tracks/tables.ts'
import type { ThumbnailsTables } from './thumbnails/tables.ts'
import type { TranscriptsTables } from './transcripts/tables.ts'
import type { UploadsTables } from './uploads/tables.ts'
import type { VideosTables } from './videos/tables.ts'
import type { WatermarksTables } from './watermarks/tables.ts'
import type { WebhooksTables } from './webhooks/tables.ts'

/** The tables of all slices. */
export type Tables = AccountsTables &
  AccessTables &
  VideosTables &
  ThumbnailsTables &
  TextTracksTables &
  UploadsTables &
  EncodingTables &
  PlayersTables &
  WatermarksTables &
  WebhooksTables &
  AnalyticsTables &
  SweepTables &
  TranscriptsTables &
  LiveStreamsTables &
  LiveTables &
  DashboardTables
