import type { Static } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import type { ListedItem } from './item-store.ts'
import type { Run, RunTotals } from './run-store.ts'
import type { Import, ImportItem } from './schemas.ts'

/** The source, and about as much for what is encoded of it. */
const diskFactor = 2.2

/** What the installation has. `speed`: seconds of video that are encoded in a second. */
type Resources = { free: number | null; speed: number | null }

export function viewImport(run: Run, totals: RunTotals, { free, speed }: Resources): Static<typeof Import> {
  const { states, videos, measured, seconds, bytes, receivedBytes } = totals
  const none = { waiting: 0, fetching: 0, encoding: 0, done: 0, failed: 0, skipped: 0 }
  const estimatedBytes = measured === 0 ? 0 : (bytes / measured) * videos
  return {
    importId: run.id,
    service: run.service,
    account: run.account,
    state: run.state,
    ...(run.failure !== null && { failure: run.failure }),
    dryRun: run.is_preview,
    isListed: run.listed_at !== null,
    waitsUntil:
      run.state === 'running' && run.wait_until && run.wait_until > new Date()
        ? formatTime(run.wait_until)
        : null,
    keepIds: run.options.keepIds,
    include: run.options.include,
    concurrency: run.concurrency,
    bandwidth: run.bandwidth,
    items: { ...none, ...states },
    videos: { count: videos, measured, seconds, bytes, receivedBytes },
    estimatedSeconds: run.listed_at === null ? null : estimateSeconds(run, totals.left, speed),
    disk: { needed: Math.round(diskFactor * estimatedBytes), free },
    createdAt: formatTime(run.created_at),
    updatedAt: formatTime(run.updated_at),
    endedAt: run.ended_at && formatTime(run.ended_at),
  }
}

/** Files are fetched while others are encoded, so the slower of both counts. */
function estimateSeconds(run: Run, left: RunTotals['left'], speed: number | null): number | null {
  if (left.seconds === 0) return 0
  if (left.seconds === null || speed === null) return null
  const fetching = (left.bytes ?? 0) / fetchSpeed(run)
  return Math.ceil(Math.max(left.seconds / speed, fetching))
}

/** Bytes per second, all files together. Infinite as long as it is not known. */
const fetchSpeed = ({ bandwidth, fetch_speed, concurrency }: Run): number =>
  Math.min(bandwidth ?? Number.POSITIVE_INFINITY, (fetch_speed ?? Number.POSITIVE_INFINITY) * concurrency)

export const viewItem = (item: ListedItem): Static<typeof ImportItem> => ({
  kind: item.kind,
  sourceId: item.source_id,
  title: item.title,
  state: item.state,
  reason: item.reason,
  notes: item.notes,
  objectId: item.object_id,
  bytes: item.total_bytes ?? item.bytes,
  receivedBytes: item.received_bytes,
  seconds: item.seconds,
  updatedAt: formatTime(item.updated_at),
})
