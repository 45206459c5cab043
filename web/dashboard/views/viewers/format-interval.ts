import type { ChartPoint } from './chart/chart-types.ts'

const hourShort = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const hourLong = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
})
const dayShort = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })
const dayLong = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  year: 'numeric',
  timeZone: 'UTC',
})

/** Hours are those of the browser. Days are those of UTC, as the API counts them. */
export function formatInterval(time: string, interval: 'hour' | 'day'): ChartPoint {
  const date = new Date(time)
  return interval === 'hour'
    ? { short: hourShort.format(date), long: hourLong.format(date) }
    : { short: dayShort.format(date), long: dayLong.format(date) }
}
