import { useQueries, useQuery } from '@tanstack/react-query'
import { isTooOld, metricQuery } from '../../../api/analytics.ts'
import { messages } from '../../../messages/messages.ts'
import { EmptyState, ErrorState } from '../../../ui/states.tsx'
import { metrics } from '../metrics.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import { metricNames, textFilters } from '../viewers-search.ts'
import { BreakdownPanel } from './breakdown-panel.tsx'
import { MetricTiles } from './metric-tiles.tsx'
import styles from './overview.module.css'
import { SeriesPanel } from './series-panel.tsx'

/** The numbers of the period, how they developed and what they consist of. */
export function Overview() {
  const { environment, search, selections } = useViewersSearch()
  const { metric = 'views' } = search
  const current = useQueries({
    queries: metricNames.map((name) => metricQuery(environment, metrics[name], selections.current)),
  })
  const previous = useQueries({
    queries: metricNames.map((name) => metricQuery(environment, metrics[name], selections.previous)),
  })
  const loads = useQuery(metricQuery(environment, metrics.loads, selections.current))
  const failed = current.find(({ error, data }) => error && data === undefined)
  if (failed?.error) {
    return isTooOld(failed.error) ? (
      <EmptyState icon="clock" title={messages.viewers.emptyTitle}>
        {messages.viewers.tooOld}
      </EmptyState>
    ) : (
      <ErrorState
        error={failed.error}
        onRetry={() => {
          for (const query of current) if (query.error) void query.refetch()
        }}
      />
    )
  }
  const isFiltered = textFilters.some((name) => search[name] !== undefined) || search.type !== undefined
  const tiles = metricNames.map((name, i) => ({
    name,
    value: current[i]?.data,
    previous: previous[i]?.data,
    hasPrevious: !previous[i]?.error,
  }))
  const isEmpty = loads.data === 0
  // Tiles full of zeros say nothing, except beside the numbers of the period before.
  const hasTiles = !isEmpty || tiles.some(({ previous }) => (previous ?? 0) > 0)
  return (
    <div className="stack">
      {hasTiles && <MetricTiles tiles={tiles} />}
      {isEmpty ? (
        <EmptyState icon="chart" title={messages.viewers.emptyTitle}>
          {isFiltered ? messages.viewers.emptyFiltered : messages.viewers.empty}
        </EmptyState>
      ) : (
        <>
          <SeriesPanel metric={metric} />
          <div className={styles.grid}>
            <div className={styles.wide}>
              <BreakdownPanel breakdown="media-id" filter="media" />
            </div>
            <BreakdownPanel breakdown="country" filter="country" />
            <BreakdownPanel breakdown="referrer-host" filter="referrer" />
            <BreakdownPanel breakdown="referrer" filter="referrer" />
            <BreakdownPanel breakdown="device-type" filter="device" />
            <BreakdownPanel breakdown="operating-system" filter="os" />
            <BreakdownPanel breakdown="browser" filter="browser" />
          </div>
        </>
      )}
    </div>
  )
}
