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

const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', timeZone: 'UTC' })

export const formatWeekday = (time: string) => weekday.format(new Date(time))

/** Hours are in the time zone of the browser. Days are in UTC, as in the API. */
export function formatInterval(time: string, interval: 'hour' | 'day'): ChartPoint {
  const date = new Date(time)
  return interval === 'hour'
    ? { short: hourShort.format(date), long: hourLong.format(date) }
    : { short: dayShort.format(date), long: dayLong.format(date) }
}
