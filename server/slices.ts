import { access } from './access/slice.ts'
import { accounts } from './accounts/slice.ts'
import { analytics } from './analytics/slice.ts'
import { dashboard } from './dashboard/slice.ts'
import { docs } from './docs/slice.ts'
import { findEncodingStatus, findOverviews } from './encoding/renditions/status.ts'
import { encoding } from './encoding/slice.ts'
import { live } from './live/slice.ts'
import { liveStreams } from './live-streams/slice.ts'
import { operations } from './operations/slice.ts'
import { pages } from './pages/slice.ts'
import { playback } from './playback/slice.ts'
import { players } from './players/slice.ts'
import type { OpenSlice, Slice } from './slice.ts'
import { sweep } from './sweep/slice.ts'
import { textTracks } from './text-tracks/slice.ts'
import { thumbnails } from './thumbnails/slice.ts'
import { transcripts } from './transcripts/slice.ts'
import { findTranscriptStatus } from './transcripts/status.ts'
import { readTranscriptRequest } from './transcripts/video-request.ts'
import { uploads } from './uploads/slice.ts'
import { findIngestStatus } from './uploads/source/status.ts'
import type { VideoParts } from './videos/parts.ts'
import { videos } from './videos/slice.ts'
import { watermarks } from './watermarks/slice.ts'
import { webhooks } from './webhooks/slice.ts'

/** What other slices contribute to videos, which are below them. */
const videoParts: VideoParts = {
  findIngestStatus,
  findEncodingStatus,
  findTranscriptStatus,
  findOverviews,
  readTranscriptRequest,
}

/** Every slice with routes, jobs, tasks or services. openapi.json has the routes in this order. */
export const slices: Slice[] = [
  accounts,
  videos(videoParts),
  access,
  thumbnails,
  textTracks,
  uploads,
  encoding(videoParts),
  playback,
  transcripts,
  liveStreams,
  live,
  players,
  watermarks,
  webhooks,
  analytics,
  sweep,
  docs,
  dashboard,
  pages,
  operations,
]

/** All slices with what they have open in this process. */
export const openSlices = (): OpenSlice[] => slices.map((slice) => ({ ...slice, ...slice.open?.() }))
