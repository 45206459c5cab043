import { now as serverNow } from '../api/clock.ts'

/** Numbers and dates in the locale of the browser. */
const number = new Intl.NumberFormat()
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 })
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export const formatNumber = (value: number) => number.format(value)
export const formatPercent = (fraction: number) => percent.format(fraction)
export const formatDateTime = (value: string | number | Date) => dateTime.format(new Date(value))

const spans: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** "5 minutes ago". The end of a period of 7 days is "in 7 days" during its first hours. */
export function formatRelative(value: string | number | Date, now = serverNow()): string {
  const seconds = (new Date(value).getTime() - now) / 1000
  const [unit, length] = spans.find(([, span]) => Math.abs(seconds) >= span) ?? ['second', 1]
  const count = seconds / length
  return relative.format(count > 0 ? Math.round(count) : Math.trunc(count), unit)
}

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function formatBytes(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: byteUnits[power]!,
    unitDisplay: power > 0 ? 'short' : 'long',
    maximumFractionDigits: value < 10 && power > 0 ? 1 : 0,
  }).format(value)
}

/** 62 as "1:02", 3,662 as "1:01:02". */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const pad = (value: number) => String(value).padStart(2, '0')
  return h > 0 ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`
}

/** A long time such as watch time: "3 h 20 min". */
export function formatSpan(seconds: number): string {
  const unit = (value: number, name: 'hour' | 'minute' | 'second') =>
    new Intl.NumberFormat(undefined, { style: 'unit', unit: name, unitDisplay: 'short' }).format(value)
  if (seconds < 60) return unit(Math.round(seconds), 'second')
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return unit(minutes, 'minute')
  const rest = minutes % 60
  const hours = unit(Math.floor(minutes / 60), 'hour')
  return minutes >= 6_000 || rest === 0 ? hours : `${hours} ${unit(rest, 'minute')}`
}

/** "30 seconds". */
export const formatUnit = (value: number, unit: 'second' | 'hour' | 'day') =>
  new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(value)

/** A long time that is not watch time, such as "7 days". */
export function formatPeriod(seconds: number): string {
  const days = Math.floor(seconds / 86_400)
  return days < 2 ? formatSpan(seconds) : formatUnit(days, 'day')
}

export function formatBitRate(bitsPerSecond: number): string {
  const isLarge = bitsPerSecond >= 1_000_000
  const value = bitsPerSecond / (isLarge ? 1_000_000 : 1_000)
  return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)} ${isLarge ? 'Mbit/s' : 'kbit/s'}`
}
