import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { seriesQuery } from '../../api/analytics.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText, Skeleton } from '../../ui/states.tsx'
import { DayBars } from './chart/day-bars.tsx'
import { formatInterval, formatWeekday } from './format-interval.ts'
import { metrics, selectionsOf } from './metrics.ts'
import styles from './recent-views.module.css'

/** The views of the last seven days, for other pages. */
export function RecentViews() {
  const environment = useEnvironment()
  const { data, error } = useQuery(seriesQuery(environment, metrics.views, selectionsOf({}).current))
  const total = (data ?? []).reduce((sum, { metricValue }) => sum + metricValue, 0)
  return (
    <Panel
      title={messages.viewers.recent}
      actions={
        <Link to="/$environment/viewers" params={{ environment }}>
          {messages.viewers.title}
        </Link>
      }
    >
      {data ? (
        <>
          <div className={styles.total}>{formatNumber(total)}</div>
          <DayBars
            label={messages.viewers.recentDays}
            bars={data.map(({ emittedAt, metricValue }) => ({
              key: emittedAt,
              short: formatWeekday(emittedAt),
              long: formatInterval(emittedAt, 'day').long,
              value: metricValue,
            }))}
          />
        </>
      ) : error ? (
        <ErrorText error={error} />
      ) : (
        <Skeleton height={146} />
      )}
    </Panel>
  )
}
