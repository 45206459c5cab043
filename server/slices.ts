import { access } from './access/slice.ts'
import { accounts } from './accounts/slice.ts'
import { analytics } from './analytics/slice.ts'
import { dashboard } from './dashboard/slice.ts'
import { docs } from './docs/slice.ts'
import { doctor } from './doctor/slice.ts'
import { findEncodingStatus, findOverviews } from './encoding/renditions/status.ts'
import { encoding } from './encoding/slice.ts'
import { imports } from './imports/slice.ts'
import { type ErrorKind, fileErrors, httpErrors } from './lib/errors.ts'
import { defineCounter } from './lib/metrics.ts'
import type { Queues } from './lib/queue.ts'
import { live } from './live/slice.ts'
import { liveStreams } from './live-streams/slice.ts'
import { operations } from './operations/slice.ts'
import { pages } from './pages/slice.ts'
import { playback } from './playback/slice.ts'
import { players } from './players/slice.ts'
import { processes } from './processes/slice.ts'
import type { Jobs } from './queues.ts'
import type { OpenContext, OpenSlice, Slice } from './slice.ts'
import { sweep } from './sweep/slice.ts'
import { textTracks } from './text-tracks/slice.ts'
import { thumbnails } from './thumbnails/slice.ts'
import { transcripts } from './transcripts/slice.ts'
import { findTranscriptStatus } from './transcripts/status.ts'
import { findTexts } from './transcripts/texts.ts'
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
  findTexts,
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
  imports,
  sweep,
  processes,
  doctor,
  docs,
  // Its hooks reject a host name before the dashboard looks for a session.
  operations,
  dashboard,
  pages,
]

/** The queues of all slices. */
export const queues: Queues<Jobs> = Object.assign({}, ...slices.map((slice) => slice.queues))

/** By queue. The job is retried, unless this was its last attempt. */
export const jobErrors = defineCounter({
  name: 'kinora_job_errors_total',
  help: 'Attempts of jobs that ended with an error, by queue',
  labels: { queue: Object.keys(queues) as (keyof Jobs)[] },
})

/** What this program counts. */
export const metricDefinitions = [jobErrors, ...slices.flatMap(({ metrics = [] }) => metrics)]

/** Every kind of error response, in the order of the documentation page. */
const errorKinds = [httpErrors, fileErrors, ...slices.map(({ errors = {} }) => errors)].flatMap(
  (errors): ErrorKind[] => Object.values(errors),
)

/** All slices with what they have open in this process. */
export const openSlices = (context: Omit<OpenContext, 'errorKinds'>): OpenSlice[] =>
  slices.map((slice) => ({ ...slice, ...slice.open?.({ ...context, errorKinds }) }))

/** A part that one slice has for the whole process. */
export function findPart<K extends keyof OpenSlice>(from: OpenSlice[], name: K): NonNullable<OpenSlice[K]> {
  const part = from.find((slice) => slice[name] !== undefined)?.[name]
  if (!part) throw new Error(`no slice has ${name}`)
  return part
}
