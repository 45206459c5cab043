import { ApiError, httpErrors, invalid, invalidAttribute } from '../lib/errors.ts'
import { atom, readTime } from '../lib/time.ts'
import type { FilterBy, Interval, Metric, viewDurations } from './data-schemas.ts'

export type Period = { from: Date; to: Date }

/** What is counted of the sessions. */
export type Measure =
  | { of: Exclude<Metric, 'view' | 'ccv'>; by: 'sum' | 'average' | 'rate' }
  | { of: 'view'; seconds: number; isUnique: boolean }
  | { of: 'ccv'; by: 'peak' | 'average'; isUnique: boolean }

/** The parameters that the three reads share, after the schema's check. */
export type DataQuery = {
  from?: string
  to?: string
  unique?: boolean
  viewDuration?: (typeof viewDurations)[number]
  filterBy?: FilterBy
}

const day = 24 * 60 * 60 * 1000

export const badQuery = (name: string, title: string) =>
  withDetail(invalid([{ kind: httpErrors.invalidQueryParameter, title: `"${name}" ${title}.`, name }]))

export const badPair = (name: string, title: string) => withDetail(invalidAttribute(name, title))

/** Clients of these reads look for the reason in `detail`. */
export function withDetail(error: Error): Error {
  return error instanceof ApiError
    ? new ApiError(error.kind, { ...error.extra, title: error.message, detail: error.message })
    : error
}

function readMoment(query: { from?: string; to?: string }, name: 'from' | 'to'): Date | undefined {
  const value = query[name]
  try {
    return value === undefined ? undefined : readTime(value, name, httpErrors.invalidQueryParameter)
  } catch (error) {
    throw withDetail(error as Error)
  }
}

/**
 * Counted by whole days, so that "30 days ago" is not refused for the second that the request took. Where sessions
 * are kept for longer than 30 days, they can be asked for.
 */
export function readPeriod(
  query: { from?: string; to?: string },
  now: Date,
  { days, keptDays }: { days: number; keptDays: number },
): Period {
  const to = readMoment(query, 'to') ?? now
  const from = readMoment(query, 'from') ?? new Date(to.getTime() - days * day)
  const furthestDays = keptDays === 0 ? 3_660 : Math.max(30, keptDays)
  const today = Math.floor(now.getTime() / day) * day
  if (from.getTime() < today - furthestDays * day) {
    throw badQuery(query.from === undefined ? 'to' : 'from', `must be at most ${furthestDays} days ago`)
  }
  if (from >= to) throw badQuery(query.from === undefined ? 'to' : 'from', 'must lie before "to"')
  // What lies ahead is empty, and counting its intervals one by one must end.
  if (to.getTime() > now.getTime() + 2 * day) throw badQuery('to', 'must not lie in the future')
  return { from, to }
}

export function readInterval(asked: Interval | undefined, { from, to }: Period): Interval {
  const lengthMs = to.getTime() - from.getTime()
  if (asked === 'minute' && lengthMs >= 60 * 60 * 1000) {
    throw badPair('interval', 'By the minute, the time from "from" to "to" must be less than 60 minutes.')
  }
  return asked ?? (lengthMs <= 2 * day ? 'hour' : 'day')
}

/** `aggregation` is one that fits the metric: see the list of pairs. */
export function readMeasure(metric: Metric, aggregation: string, query: DataQuery): Measure {
  const isUnique = query.unique ?? false
  if (isUnique && metric !== 'view' && metric !== 'ccv') {
    throw badPair('unique', '"unique" goes only with views and concurrent viewers.')
  }
  if (query.viewDuration && metric !== 'view') {
    throw badPair('viewDuration', '"viewDuration" goes only with views.')
  }
  if (metric === 'view')
    return { of: metric, isUnique, seconds: Number.parseInt(query.viewDuration ?? '5s', 10) }
  if (metric === 'ccv') return { of: metric, isUnique, by: aggregation === 'average' ? 'average' : 'peak' }
  const by = aggregation === 'average' || aggregation === 'rate' ? aggregation : 'sum'
  return { of: metric, by }
}

/** All plays that are known: of older sessions no more is kept than by which video they were. */
export function checkTotal({ filterBy = {} }: DataQuery): void {
  const other = Object.keys(filterBy).find((key) => key !== 'mediaId' && key !== 'mediaType')
  if (other)
    throw badPair(`filterBy[${other}]`, 'Total plays go only with the filters mediaId and mediaType.')
}

/** `unique-view-5`, as existing clients know it. */
export function metricName(metric: string, measure: Measure): string {
  const isUnique = 'isUnique' in measure && measure.isUnique
  return `${isUnique ? 'unique-' : ''}${metric}${measure.of === 'view' ? `-${measure.seconds}` : ''}`
}

export const viewPeriod = ({ from, to }: Period) => ({ from: atom(from), to: atom(to) })

/** The filters as links repeat them. */
export const flatFilters = ({ filterBy = {}, unique, ...rest }: DataQuery) => ({
  ...rest,
  unique: unique === undefined ? undefined : String(unique),
  ...Object.fromEntries(Object.entries(filterBy).map(([key, value]) => [`filterBy[${key}]`, value])),
})
