import { ApiError, httpErrors, invalid, invalidAttribute } from '../lib/errors.ts'
import { formatTime, readTime } from '../lib/time.ts'
import type { FilterBy, Interval, Metric, viewDurations } from './data-schemas.ts'

export type Period = { from: Date; to: Date }

/** How sessions are counted. */
export type Measure =
  | { of: Exclude<Metric, 'view' | 'ccv'>; by: 'sum' | 'average' | 'rate' }
  | { of: 'view'; seconds: number; isUnique: boolean }
  | { of: 'ccv'; by: 'peak' | 'average'; isUnique: boolean }

/** The query parameters that the three data routes share, after validation. */
export type DataQuery = {
  from?: string
  to?: string
  unique?: boolean
  viewDuration?: (typeof viewDurations)[number]
  filterBy?: FilterBy
}

const dayMs = 24 * 60 * 60 * 1000

export const invalidQuery = (name: string, title: string) =>
  withDetail(invalid([{ kind: httpErrors.invalidQueryParameter, title: `"${name}" ${title}.`, name }]))

export const invalidCombination = (name: string, title: string) => withDetail(invalidAttribute(name, title))

/** Existing clients of the data routes read the reason from `detail`. */
export function withDetail(error: Error): Error {
  return error instanceof ApiError
    ? new ApiError(error.kind, { ...error.extra, title: error.message, detail: error.message })
    : error
}

function readQueryTime(query: { from?: string; to?: string }, name: 'from' | 'to'): Date | undefined {
  const value = query[name]
  try {
    return value === undefined ? undefined : readTime(value, name, httpErrors.invalidQueryParameter)
  } catch (error) {
    throw withDetail(error as Error)
  }
}

/**
 * Reads `from` and `to`. Age is counted in whole days, so that "30 days ago" is not rejected because of the second that
 * the request took. Sessions kept for longer than 30 days can be queried.
 */
export function readPeriod(
  query: { from?: string; to?: string },
  now: Date,
  { defaultDays, keptDays }: { defaultDays: number; keptDays: number },
): Period {
  const to = readQueryTime(query, 'to') ?? now
  const from = readQueryTime(query, 'from') ?? new Date(to.getTime() - defaultDays * dayMs)
  const maxDays = keptDays === 0 ? 3_660 : Math.max(30, keptDays)
  const today = Math.floor(now.getTime() / dayMs) * dayMs
  if (from.getTime() < today - maxDays * dayMs) {
    throw invalidQuery(query.from === undefined ? 'to' : 'from', `must be at most ${maxDays} days ago`)
  }
  if (from >= to) throw invalidQuery(query.from === undefined ? 'to' : 'from', 'must be before "to"')
  // Future intervals are empty, and their number must be bounded.
  if (to.getTime() > now.getTime() + 2 * dayMs) throw invalidQuery('to', 'must not be in the future')
  return { from, to }
}

export function readInterval(requested: Interval | undefined, { from, to }: Period): Interval {
  const lengthMs = to.getTime() - from.getTime()
  if (requested === 'minute' && lengthMs >= 60 * 60 * 1000) {
    throw invalidCombination(
      'interval',
      'With the interval "minute", "from" and "to" must be less than 60 minutes apart.',
    )
  }
  return requested ?? (lengthMs <= 2 * dayMs ? 'hour' : 'day')
}

/** The caller checks that the metric supports the aggregation. */
export function readMeasure(metric: Metric, aggregation: string, query: DataQuery): Measure {
  const isUnique = query.unique ?? false
  if (isUnique && metric !== 'view' && metric !== 'ccv') {
    throw invalidCombination('unique', '"unique" is supported only for views and concurrent viewers.')
  }
  if (query.viewDuration && metric !== 'view') {
    throw invalidCombination('viewDuration', '"viewDuration" is supported only for views.')
  }
  if (metric === 'view')
    return { of: metric, isUnique, seconds: Number.parseInt(query.viewDuration ?? '5s', 10) }
  if (metric === 'ccv') return { of: metric, isUnique, by: aggregation === 'average' ? 'average' : 'peak' }
  const by = aggregation === 'average' || aggregation === 'rate' ? aggregation : 'sum'
  return { of: metric, by }
}

/** Total plays include expired sessions. Only the number of plays per video is kept of those. */
export function checkTotalFilters({ filterBy = {} }: DataQuery): void {
  const other = Object.keys(filterBy).find((key) => key !== 'mediaId' && key !== 'mediaType')
  if (other)
    throw invalidCombination(
      `filterBy[${other}]`,
      'Total plays support only the filters mediaId and mediaType.',
    )
}

/** The metric name that existing clients expect, such as `unique-view-5`. */
export function metricName(metric: string, measure: Measure): string {
  const isUnique = 'isUnique' in measure && measure.isUnique
  return `${isUnique ? 'unique-' : ''}${metric}${measure.of === 'view' ? `-${measure.seconds}` : ''}`
}

export const viewPeriod = ({ from, to }: Period) => ({ from: formatTime(from), to: formatTime(to) })

/** The filters in the form that pagination links repeat. */
export const flatFilters = ({ filterBy = {}, unique, ...rest }: DataQuery) => ({
  ...rest,
  unique: unique === undefined ? undefined : String(unique),
  ...Object.fromEntries(Object.entries(filterBy).map(([key, value]) => [`filterBy[${key}]`, value])),
})
