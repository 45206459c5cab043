import { messages } from '../../../messages/messages.ts'
import { formatBitRate } from '../../../ui/format.ts'
import type { Sample } from './health-history.ts'
import styles from './health-panel.module.css'

const width = 600
const height = 80

/** The bit rate as a line that grows with every value. */
export function HealthChart({ samples }: { samples: Sample[] }) {
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || samples.length < 2) return <p className="secondary">{messages.live.chartWaiting}</p>
  const rates = samples.map(({ bitRate }) => bitRate)
  const low = Math.min(...rates)
  const high = Math.max(...rates)
  const spanMs = Math.max(1, last.atMs - first.atMs)
  const x = ({ atMs }: Sample) => ((atMs - first.atMs) / spanMs) * width
  // From zero, so that a small change does not look like a large one.
  const y = ({ bitRate }: Sample) => height - (bitRate / Math.max(1, high * 1.1)) * (height - 4) - 2
  const line = samples.map((sample) => `${x(sample).toFixed(1)},${y(sample).toFixed(1)}`)
  const label = messages.live.chart(formatBitRate(last.bitRate), formatBitRate(low), formatBitRate(high))
  return (
    <svg
      className={styles.chart}
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      <polygon className={styles.area} points={`0,${height} ${line.join(' ')} ${width},${height}`} />
      <polyline className={styles.line} points={line.join(' ')} />
    </svg>
  )
}
