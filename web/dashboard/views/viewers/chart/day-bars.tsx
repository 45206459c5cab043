import { formatNumber } from '../../../ui/format.ts'
import styles from './day-bars.module.css'

type Bar = { key: string; short: string; long: string; value: number }

/** A small chart for a few days, each with its number. */
export function DayBars({ label, bars }: { label: string; bars: Bar[] }) {
  const highest = Math.max(1, ...bars.map(({ value }) => value))
  return (
    <ol className={styles.bars} aria-label={label}>
      {bars.map(({ key, short, long, value }) => (
        <li key={key} className={styles.day}>
          <span className={styles.value}>{formatNumber(value)}</span>
          <span className={styles.space}>
            <span className={styles.bar} style={{ height: `${(value / highest) * 100}%` }} />
          </span>
          <span className={styles.label} aria-hidden="true">
            {short}
          </span>
          <span className="visually-hidden">{long}</span>
        </li>
      ))}
    </ol>
  )
}
