import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { formatBitRate, formatDuration } from '../../../ui/format.ts'
import styles from './health-chart.module.css'
import type { Sample } from './health-history.ts'

const width = 600
const height = 100

/** The bit rate as a line that grows with every value. */
export function HealthChart({ samples }: { samples: Sample[] }) {
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || samples.length < 2)
    return <p className={classNames('secondary', styles.waiting)}>{messages.live.chartWaiting}</p>
  const rates = samples.map(({ bitRate }) => bitRate)
  const low = Math.min(...rates)
  const high = Math.max(...rates)
  // From zero, so that a small change does not look like a large one.
  const top = roundUp(high)
  const spanMs = Math.max(1, last.atMs - first.atMs)
  const x = ({ atMs }: Sample) => ((atMs - first.atMs) / spanMs) * width
  const y = ({ bitRate }: Sample) => height - (bitRate / top) * height
  const line = samples.map((sample) => `${x(sample).toFixed(1)},${y(sample).toFixed(1)}`)
  const label = messages.live.chart(formatBitRate(last.bitRate), formatBitRate(low), formatBitRate(high))
  return (
    <figure className={styles.figure}>
      <div className={styles.scale} aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{formatBitRate(value)}</span>
        ))}
      </div>
      <svg
        className={styles.chart}
        role="img"
        aria-label={label}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
      >
        <title>{label}</title>
        <path className={styles.grid} d={`M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`} />
        <polygon className={styles.area} points={`0,${height} ${line.join(' ')} ${width},${height}`} />
        <polyline className={styles.line} points={line.join(' ')} />
      </svg>
      <div className={styles.times} aria-hidden="true">
        <span>{messages.live.chartBegan(formatDuration(spanMs / 1000))}</span>
        <span>{messages.live.chartNow}</span>
      </div>
    </figure>
  )
}

/** The next of 1, 2, 3, 4, 5, 6, 8 or 10 times a power of ten, which has a half that can be read. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return power * ([1, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value) ?? 10)
}
