import type { ViewerSession } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { formatDuration } from '../../../ui/format.ts'
import { useDuration } from '../filters/media-names.ts'
import styles from './watched-timeline.module.css'

type WatchedTimelineProps = Pick<ViewerSession, 'media' | 'watch'>

/** The parts that were watched, as bars over the duration. */
export function WatchedTimeline({ media, watch }: WatchedTimelineProps) {
  const known = useDuration(media)
  const { ranges } = watch
  // A live stream has no end: its timeline ends where the viewer did.
  const duration = Math.max(known ?? 0, ...ranges.map(({ to }) => to))
  if (ranges.length === 0 || duration === 0)
    return <p className={styles.nothing}>{messages.viewers.watchedNothing}</p>
  const parts = ranges.map(({ from, to }) => messages.viewers.part(formatDuration(from), formatDuration(to)))
  const label = messages.viewers.watchedParts(parts.join(', '), formatDuration(duration))
  return (
    <div className={styles.timeline}>
      <svg
        className={styles.bars}
        role="img"
        aria-label={label}
        viewBox={`0 0 ${duration} 1`}
        preserveAspectRatio="none"
      >
        <title>{label}</title>
        {ranges.map(({ from, to }) => (
          <rect key={from} x={from} y={0} width={Math.max(to - from, duration / 300)} height={1} />
        ))}
      </svg>
      <span className={styles.duration}>{formatDuration(duration)}</span>
    </div>
  )
}
