import { httpErrors, invalid } from '../lib/errors.ts'

export type Period = { from: Date; to: Date }

const dayMs = 24 * 3_600_000

/** Parses a year, a month, an ISO 8601 week, a day, or a range of days that includes both ends. */
export function readNamedPeriod(text: string): Period {
  const [first = '', last, ...rest] = text.split('/')
  const from = readSpan(first, last !== undefined)
  const to = last === undefined ? from : readSpan(last, true)
  if (!from || !to || rest.length > 0 || to.from < from.from) {
    const title =
      '"period" must be a period such as 2026, 2026-01, 2026-W01, 2026-01-02 or 2026-01-02/2026-01-31.'
    throw invalid([{ kind: httpErrors.invalidQueryParameter, title, name: 'period' }])
  }
  return { from: from.from, to: to.to }
}

function readSpan(text: string, isDayOnly: boolean): Period | undefined {
  const [, year, month, day, week] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?|-W(\d\d))?$/.exec(text) ?? []
  if (!year || Number(year) < 1970 || (isDayOnly && !day)) return undefined
  if (week) return weekOf(Number(year), Number(week))
  const start = [Number(year), Number(month ?? 1) - 1, Number(day ?? 1)] as const
  const from = new Date(Date.UTC(...start))
  // Date.UTC turns a day or month that does not exist into a later one.
  if (from.getUTCMonth() !== start[1] || from.getUTCDate() !== start[2]) return undefined
  const to = new Date(from)
  if (day) to.setUTCDate(start[2] + 1)
  else if (month) to.setUTCMonth(start[1] + 1)
  else to.setUTCFullYear(start[0] + 1)
  return { from, to }
}

/** The first week contains January 4. Weeks begin on Monday. */
function weekOf(year: number, week: number): Period | undefined {
  const fourth = Date.UTC(year, 0, 4)
  const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs
  const from = new Date(monday + (week - 1) * 7 * dayMs)
  const to = new Date(from.getTime() + 7 * dayMs)
  // A week belongs to the year of its Thursday.
  const thursday = new Date(from.getTime() + 3 * dayMs)
  return week >= 1 && thursday.getUTCFullYear() === year ? { from, to } : undefined
}
