import { now } from '../../../api/clock.ts'
import type { ViewersSearch } from '../viewers-search.ts'

type Period = { from: Date; to: Date }
export type Range = {
  current: Period
  /** The period of the same length before it. */
  previous: Period
  interval: 'hour' | 'day'
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const startOfDay = (ms: number) => Math.floor(ms / dayMs) * dayMs

const presetDays = { '7d': 7, '30d': 30, '90d': 90 } as const

/** Days are in UTC, as everywhere in the API. Periods end now, so that both of them are equally complete. */
export function readRange({ period = '7d', from, to }: ViewersSearch, nowMs = now()): Range {
  if (period === '24h') return rangeOf(Math.floor(nowMs / hourMs) * hourMs - 23 * hourMs, nowMs, dayMs)
  if (period === 'custom') return customRange(from, to, nowMs)
  const days = presetDays[period]
  return rangeOf(startOfDay(nowMs) - (days - 1) * dayMs, nowMs, days * dayMs)
}

/** Without a day, the last seven. Days in the wrong order are swapped. */
function customRange(from: string | undefined, to: string | undefined, nowMs: number): Range {
  const last = to ? Date.parse(to) : startOfDay(nowMs)
  const first = from ? Date.parse(from) : last - 6 * dayMs
  const begin = Math.min(first, last)
  const end = Math.max(first, last) + dayMs
  // A period in the future is shown as it is, and is empty.
  return rangeOf(begin, begin < nowMs ? Math.min(end, nowMs) : end, end - begin)
}

function rangeOf(fromMs: number, toMs: number, stepMs: number): Range {
  return {
    current: { from: new Date(fromMs), to: new Date(toMs) },
    previous: { from: new Date(fromMs - stepMs), to: new Date(toMs - stepMs) },
    interval: stepMs <= 2 * dayMs ? 'hour' : 'day',
  }
}

/** The change from the previous period, such as 0.5 for "50 % more". Undefined if there was nothing to compare with. */
export const changeOf = (value: number, previous: number | undefined): number | undefined =>
  previous === undefined || previous === 0 ? undefined : value / previous - 1
