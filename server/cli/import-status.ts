import type { ItemState, RunState } from '../imports/kinds.ts'
import { formatBytes } from './progress.ts'

export type Import = {
  importId: string
  service: string
  account: string
  state: RunState
  failure?: string
  dryRun: boolean
  isListed: boolean
  waitsUntil: string | null
  items: Record<ItemState, number>
  videos: { count: number; measured: number; seconds: number; bytes: number; receivedBytes: number }
  disk: { needed: number; free: number | null }
  estimatedSeconds: number | null
}

export const isActive = ({ state }: Import) => state === 'running' || state === 'paused'

/** A few lines about an import. */
export function formatImport(shown: Import): string {
  const { importId, service, account, state, failure, isListed, waitsUntil, items, videos } = shown
  const counts = Object.entries(items)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
  const lines = [
    `${importId}  ${service} ${account}  ${state}${failure ? `: ${failure}` : ''}`,
    `${counts.join(', ') || 'nothing listed yet'}${isListed ? '' : ', still listing'}`,
  ]
  if (state === 'ready') lines.push(formatPreview(shown))
  else if (videos.receivedBytes > 0) lines.push(formatProgress(shown))
  if (waitsUntil !== null) lines.push(`The service has asked to wait until ${waitsUntil}.`)
  return lines.join('\n')
}

function formatProgress({ state, videos, estimatedSeconds }: Import): string {
  const received = `${formatBytes(videos.receivedBytes)} received`
  return state === 'running' && estimatedSeconds
    ? `${received}, about ${formatSpan(estimatedSeconds)} left`
    : received
}

function formatPreview({ videos, disk, estimatedSeconds }: Import): string {
  const { count, measured, seconds, bytes } = videos
  const factor = measured === 0 ? 0 : count / measured
  const about = measured < count ? 'about ' : ''
  const hours = ((seconds * (seconds > 0 ? Math.max(1, factor) : 0)) / 3600).toFixed(1)
  const free = disk.free === null ? '' : ` of ${formatBytes(disk.free)} free`
  const time =
    estimatedSeconds === null ? 'time not known yet' : `takes about ${formatSpan(estimatedSeconds)}`
  return `${count} videos, ${about}${hours} hours, ${about}${formatBytes(bytes * factor)}; needs about ${formatBytes(disk.needed)}${free}; ${time}`
}

function formatSpan(seconds: number): string {
  const minutes = Math.max(1, Math.round(seconds / 60))
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}
