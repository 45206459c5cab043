import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { isTooOld, type SeriesPoint, seriesQuery } from '../../../api/analytics.ts'
import { messages } from '../../../messages/messages.ts'
import { lazyWithRetry } from '../../../ui/load-with-retry.ts'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorState, Skeleton } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'
import { TableToggle } from '../chart/table-toggle.tsx'
import { CsvButton } from '../csv-button.tsx'
import { formatInterval } from '../format-interval.ts'
import { formatMetric, isSum, metrics, stepsOf } from '../metrics.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import type { MetricName } from '../viewers-search.ts'

const LineChart = lazyWithRetry(() => import('../chart/line-chart.tsx'))
const chartHeight = 270

/** A metric over time, compared with the previous period. */
export function SeriesPanel({ metric }: { metric: MetricName }) {
  const { environment, selections } = useViewersSearch()
  const current = useQuery(seriesQuery(environment, metrics[metric], selections.current))
  const previous = useQuery(seriesQuery(environment, metrics[metric], selections.previous))
  const title = messages.viewers.overTime(messages.viewers.metrics[metric])
  const points = current.data ?? []
  const before = isTooOld(previous.error) ? undefined : previous.data
  return (
    <Panel
      title={title}
      actions={
        <CsvButton
          name={title}
          load={() => ({
            header: [messages.viewers.time, messages.viewers.current, messages.viewers.previous],
            rows: points.map(({ emittedAt, metricValue }, i) => [
              emittedAt,
              metricValue,
              before?.[i]?.metricValue ?? null,
            ]),
          })}
        />
      }
    >
      {current.error && !current.data ? (
        <ErrorState error={current.error} onRetry={() => current.refetch()} />
      ) : !current.data ? (
        <Skeleton height={chartHeight} />
      ) : (
        <Series metric={metric} points={points} before={before} interval={selections.current.interval} />
      )}
    </Panel>
  )
}

type SeriesProps = {
  metric: MetricName
  points: SeriesPoint[]
  before: SeriesPoint[] | undefined
  interval: 'hour' | 'day'
}

function Series({ metric, points, before, interval }: SeriesProps) {
  const format = (value: number) => formatMetric(metric, value)
  const series = [
    {
      label: messages.viewers.current,
      color: '--chart-1',
      values: points.map(({ metricValue }) => metricValue),
    },
    ...(before
      ? [
          {
            label: messages.viewers.previous,
            color: '--chart-previous',
            isDashed: true,
            values: points.map((_, i) => before[i]?.metricValue ?? null),
          },
        ]
      : []),
  ]
  return (
    <>
      <Suspense fallback={<Skeleton height={chartHeight} />}>
        <LineChart
          points={points.map(({ emittedAt }) => formatInterval(emittedAt, interval))}
          series={series}
          summary={messages.viewers.summary(
            messages.viewers.metrics[metric],
            format(combine(metric, points)),
            before && format(combine(metric, before)),
          )}
          format={format}
          steps={stepsOf(metric)}
        />
      </Suspense>
      <TableToggle>
        <Table
          label={messages.viewers.overTime(messages.viewers.metrics[metric])}
          rows={points.map((point, i) => ({ ...point, before: before?.[i]?.metricValue }))}
          keyOf={({ emittedAt }) => emittedAt}
          columns={[
            {
              label: messages.viewers.time,
              cell: ({ emittedAt }) => formatInterval(emittedAt, interval).long,
            },
            {
              label: messages.viewers.current,
              isNumber: true,
              cell: ({ metricValue }) => format(metricValue),
            },
            {
              label: messages.viewers.previous,
              isNumber: true,
              cell: (row) => (row.before === undefined ? '–' : format(row.before)),
            },
          ]}
        />
      </TableToggle>
    </>
  )
}

function combine(metric: MetricName, points: SeriesPoint[]): number {
  const values = points.map(({ metricValue }) => metricValue)
  if (isSum(metric)) return values.reduce((sum, value) => sum + value, 0)
  return Math.max(0, ...values)
}
