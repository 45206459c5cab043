import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Breakdown, bucketsQuery, maxPageSize, metricQuery } from '../../../api/analytics.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorState, Skeleton } from '../../../ui/states.tsx'
import { BarTable } from '../chart/bar-table.tsx'
import { CsvButton } from '../csv-button.tsx'
import { nameOf, safeLink } from '../filters/dimension-names.ts'
import { useMediaTitles } from '../filters/media-names.ts'
import { formatMetric, isSum, metrics } from '../metrics.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import type { TextFilter } from '../viewers-search.ts'
import { loadBreakdown } from './breakdown-sheet.ts'
import { compare, readPrevious } from './change.ts'

const fewRows = 7

export type BreakdownPanelProps = {
  breakdown: Breakdown
  /** The filter that names the values. */
  filter: TextFilter
}

/** The chosen metric by a dimension. A row adds its value to the filters. */
export function BreakdownPanel({ breakdown, filter }: BreakdownPanelProps) {
  const { environment, search, selections, change } = useViewersSearch()
  const client = useQueryClient()
  const { metric = 'views' } = search
  const [pageSize, setPageSize] = useState(fewRows)
  const query = useQuery(
    bucketsQuery(environment, metrics[metric], selections.current, { breakdown, pageSize }),
  )
  const { previous, hasPrevious } = usePrevious(breakdown)
  const total = useQuery(metricQuery(environment, metrics[metric], selections.current))
  const buckets = query.data?.data ?? []
  const isMedia = breakdown === 'media-id'
  const titles = useMediaTitles(isMedia ? buckets.map(({ dimensionValue }) => dimensionValue) : [])
  const name = messages.viewers.breakdowns[breakdown]
  const hidden = (query.data?.pagination.itemsTotal ?? 0) - buckets.length
  const load = () => loadBreakdown({ client, environment, metric, selections, breakdown, filter })
  return (
    <Panel title={name} actions={<CsvButton name={name} load={load} />}>
      {query.error && !query.data ? (
        <ErrorState error={query.error} onRetry={() => query.refetch()} />
      ) : !query.data ? (
        <Skeleton height={160} />
      ) : buckets.length === 0 ? (
        <p className="secondary">{messages.viewers.nothing}</p>
      ) : (
        <BarTable
          label={name}
          dimension={messages.viewers.filterNames[filter]}
          metric={messages.viewers.metrics[metric]}
          total={isSum(metric) ? total.data : undefined}
          hasChange={hasPrevious}
          format={(value) => formatMetric(metric, value)}
          rows={buckets.map(({ dimensionValue, metricValue }) => ({
            key: dimensionValue,
            label: nameOf(filter, dimensionValue, titles),
            value: metricValue,
            change: previous ? compare(previous, dimensionValue, metricValue) : null,
            link: breakdown === 'referrer' ? safeLink(dimensionValue) : undefined,
            // The API cannot filter by the host.
            ...(breakdown !== 'referrer-host' && {
              onSelect: () => change({ [filter]: dimensionValue }),
            }),
          }))}
        />
      )}
      {hidden > 0 && (
        <div>
          {pageSize === fewRows ? (
            <Button variant="quiet" onClick={() => setPageSize(maxPageSize)}>
              {messages.viewers.showMore(formatNumber(hidden))}
            </Button>
          ) : (
            <span className="secondary">{messages.viewers.others(formatNumber(hidden))}</span>
          )}
        </div>
      )}
    </Panel>
  )
}

/** The largest values of the previous period, if its sessions are still stored. */
function usePrevious(breakdown: Breakdown) {
  const { environment, search, selections } = useViewersSearch()
  const metric = metrics[search.metric ?? 'views']
  const page = { breakdown, pageSize: maxPageSize }
  const { data, error } = useQuery(bucketsQuery(environment, metric, selections.previous, page))
  return {
    hasPrevious: !error,
    previous:
      data &&
      readPrevious(data.data, data.pagination.itemsTotal, ({ dimensionValue, metricValue }) => [
        dimensionValue,
        metricValue,
      ]),
  }
}
