/** The form of dates in API bodies: `2026-01-02T03:04:05+00:00`. */
export const atom = (date: Date) => `${date.toISOString().slice(0, 19)}+00:00`
