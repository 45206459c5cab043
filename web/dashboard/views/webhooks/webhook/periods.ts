import { formatUnit } from '../../../ui/format.ts'

const hour = 3_600
export const day = 24 * hour

/** In seconds. Deliveries are kept for 30 days, and a previous secret can be used for as long. */
export const longest = 30 * day
export const periods = [hour, day, 7 * day, longest]

export const formatPeriod = (seconds: number) =>
  seconds < day ? formatUnit(seconds / hour, 'hour') : formatUnit(seconds / day, 'day')
