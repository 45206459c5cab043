import { Link } from '@tanstack/react-router'
import type { SeriesPoint } from '../../api/analytics.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { DayBars } from './chart/day-bars.tsx'
import { formatInterval, formatWeekday } from './format-interval.ts'
import styles from './recent-views.module.css'

/** The views of the last seven days, for other pages. */
export function RecentViews({ points }: { points: SeriesPoint[] }) {
  const environment = useEnvironment()
  const total = points.reduce((sum, { metricValue }) => sum + metricValue, 0)
  return (
    <Panel
      title={messages.viewers.recent}
      actions={
        <Link to="/$environment/viewers" params={{ environment }}>
          {messages.viewers.title}
        </Link>
      }
    >
      {total === 0 ? (
        <p className="muted">{messages.viewers.recentNone}</p>
      ) : (
        <>
          <div className={styles.total}>{formatNumber(total)}</div>
          <DayBars
            label={messages.viewers.recentDays}
            bars={points.map(({ emittedAt, metricValue }) => ({
              key: emittedAt,
              short: formatWeekday(emittedAt),
              long: formatInterval(emittedAt, 'day').long,
              value: metricValue,
            }))}
          />
        </>
      )}
    </Panel>
  )
}
