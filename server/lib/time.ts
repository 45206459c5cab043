import { type ErrorKind, invalid } from './errors.ts'

/** The date format of API bodies: `2026-01-02T03:04:05+00:00`. */
export const formatTime = (date: Date) => `${date.toISOString().slice(0, 19)}+00:00`

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i

/** Parses a time from a request. */
export function readTime(value: string, name: string, kind: ErrorKind): Date {
  // A plus sign in a query that was not percent-encoded arrives as a space.
  const plain = value.replace(/ (\d\d:?\d\d)$/, '+$1')
  const time = new Date(plain)
  if (isoTime.test(plain) && !Number.isNaN(time.getTime())) return time
  throw invalid([{ kind, title: `"${name}" must be a time such as 2026-01-02T03:04:05Z.`, name }])
}
