import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Breakdown, bucketsQuery, loadAllBuckets, metricQuery } from '../../api/analytics.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorState, Skeleton } from '../../ui/states.tsx'
import { BarTable } from './bar-table.tsx'
import styles from './breakdown-panel.module.css'
import { CsvButton } from './csv-button.tsx'
import { labelOf, safeLink } from './dimension-names.ts'
import { useMediaTitles } from './media-names.ts'
import { formatMetric, isSum, metrics } from './metrics.ts'
import { useViewersSearch } from './use-viewers-search.ts'
import type { TextFilter } from './viewers-search.ts'

const fewRows = 7
const manyRows = 100

type BreakdownPanelProps = {
  breakdown: Breakdown
  /** The filter that names the values. */
  filter: TextFilter
}

/** The chosen metric by a dimension. A row adds its value to the filters. */
export function BreakdownPanel({ breakdown, filter }: BreakdownPanelProps) {
  const { environment, search, selections, change } = useViewersSearch()
  const { metric = 'plays' } = search
  const [pageSize, setPageSize] = useState(fewRows)
  const query = useQuery(
    bucketsQuery(environment, metrics[metric], selections.current, { breakdown, pageSize }),
  )
  const total = useQuery(metricQuery(environment, metrics[metric], selections.current))
  const buckets = query.data?.data ?? []
  const isMedia = breakdown === 'media-id'
  const titles = useMediaTitles(isMedia ? buckets.map(({ dimensionValue }) => dimensionValue) : [])
  const nameOf = (value: string) => {
    if (!isMedia) return labelOf(filter, value)
    const title = titles.get(value)
    return title === null ? `${texts.viewers.deletedMedia} (${value})` : (title ?? value)
  }
  const name = texts.viewers.breakdowns[breakdown]
  const metricName = texts.viewers.metrics[metric]
  const hidden = (query.data?.pagination.itemsTotal ?? 0) - buckets.length
  return (
    <Panel
      title={name}
      actions={
        <CsvButton
          name={name}
          rows={async () => [
            [name, ...(isMedia ? [texts.viewers.media] : []), metricName],
            ...(await loadAllBuckets(environment, metrics[metric], selections.current, breakdown)).map(
              ({ dimensionValue, metricValue }) => [
                nameOf(dimensionValue),
                ...(isMedia ? [dimensionValue] : []),
                metricValue,
              ],
            ),
          ]}
        />
      }
    >
      {query.error && !query.data ? (
        <ErrorState error={query.error} onRetry={() => query.refetch()} />
      ) : !query.data ? (
        <Skeleton height={160} />
      ) : buckets.length === 0 ? (
        <p className={styles.nothing}>{texts.viewers.nothing}</p>
      ) : (
        <BarTable
          label={name}
          dimension={texts.viewers.filterNames[filter]}
          metric={metricName}
          total={isSum(metric) ? total.data : undefined}
          format={(value) => formatMetric(metric, value)}
          rows={buckets.map(({ dimensionValue, metricValue }) => ({
            key: dimensionValue,
            label: nameOf(dimensionValue),
            value: metricValue,
            link: breakdown === 'referrer' ? safeLink(dimensionValue) : undefined,
            // The API cannot filter by the host.
            ...(breakdown !== 'referrer-host' && {
              onSelect: () => change({ [filter]: dimensionValue }),
            }),
          }))}
        />
      )}
      {hidden > 0 && (
        <div className={styles.more}>
          {pageSize === fewRows ? (
            <Button look="quiet" onClick={() => setPageSize(manyRows)}>
              {texts.viewers.showMore(formatNumber(hidden))}
            </Button>
          ) : (
            <span className={styles.nothing}>{texts.viewers.others(formatNumber(hidden))}</span>
          )}
        </div>
      )}
    </Panel>
  )
}
