import type { Metric, Selection } from '../../api/analytics.ts'
import { formatNumber, formatSpan } from '../../ui/format.ts'
import { type Range, readRange } from './filters/period.ts'
import type { MetricName, TextFilter, ViewersSearch } from './viewers-search.ts'

/** How each metric of the page is read. */
export const metrics: Record<MetricName, Metric> = {
  views: { name: 'start', aggregation: 'count', series: 'start' },
  viewers: {
    name: 'view',
    aggregation: 'count',
    series: 'view',
    options: { unique: true, viewDuration: '3s' },
  },
  watchTime: { name: 'watch-time', aggregation: 'sum', series: 'watch-time' },
  averageWatch: { name: 'watch-time', aggregation: 'average', series: 'watch-time-average' },
  concurrent: { name: 'ccv', aggregation: 'peak', series: 'ccv-peak' },
  loads: { name: 'impression', aggregation: 'count', series: 'impression' },
}

const isTime = (name: MetricName) => name === 'watchTime' || name === 'averageWatch'

/** Minutes do not matter beside many hours. */
const roundTime = (seconds: number) => (seconds < 10 * 3_600 ? seconds : Math.round(seconds / 3_600) * 3_600)

export const formatMetric = (name: MetricName, value: number) =>
  isTime(name) ? formatSpan(roundTime(value)) : formatNumber(value)

const minute = 60
const hour = 60 * minute
const timeSteps = [
  ...[1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000].map((count) => count * hour),
]
const countSteps = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat()

/** Distances between the lines of a chart that are easy to read. */
export const stepsOf = (name: MetricName) => (isTime(name) ? timeSteps : countSteps)

/** Averages and peaks of parts do not add up. */
export const isSum = (name: MetricName) => name !== 'averageWatch' && name !== 'concurrent'

const filterNames = {
  media: 'mediaId',
  tag: 'tag',
  country: 'country',
  device: 'deviceType',
  os: 'operatingSystem',
  browser: 'browser',
  referrer: 'referrer',
} as const satisfies Record<TextFilter, string>

function filtersOf(search: ViewersSearch): Selection['filters'] {
  const found = Object.entries(filterNames).flatMap(([name, filter]) => {
    const value = search[name as TextFilter]
    // Only the referrer may be empty: it stands for sessions without one.
    return value === undefined || (value === '' && name !== 'referrer') ? [] : [[filter, value]]
  })
  return { ...Object.fromEntries(found), ...(search.type && { mediaType: search.type }) }
}

/** What the URL selects, for this period and the previous one. */
export function selectionsOf(search: ViewersSearch): Record<'current' | 'previous', Selection> {
  const { period = '7d', from, to } = search
  const filters = filtersOf(search)
  const { interval } = readRange(search)
  const select = (which: keyof Pick<Range, 'current' | 'previous'>): Selection => ({
    id: [which, period, ...(period === 'custom' ? [from, to] : [])].join(' '),
    times: () => readRange(search)[which],
    filters,
    interval,
  })
  return { current: select('current'), previous: select('previous') }
}
