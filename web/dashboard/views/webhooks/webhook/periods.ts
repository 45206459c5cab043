const hour = 3_600
export const day = 24 * hour

/** In seconds. Deliveries are kept for 30 days, and a previous secret can be used for as long. */
export const longest = 30 * day
export const periods = [hour, day, 7 * day, longest]

export function formatPeriod(seconds: number): string {
  const [unit, length] = seconds < day ? (['hour', hour] as const) : (['day', day] as const)
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(
    seconds / length,
  )
}
