import { changeOf } from '../filters/period.ts'

/** The change of a value, such as 0.5 for "50 % more". Undefined if it is not known. */
export type Change = number | 'new' | undefined

/** Values of the previous period, which may be only the largest ones. */
export type Previous = { values: Map<string, number>; isComplete: boolean }

export function readPrevious<T>(rows: T[], total: number, read: (row: T) => [string, number]): Previous {
  return { values: new Map(rows.map(read)), isComplete: total <= rows.length }
}

/** A value that is null cannot be compared. */
export function compare({ values, isComplete }: Previous, key: string, value: number | null): Change {
  if (value === null) return undefined
  const before = values.get(key) ?? (isComplete ? 0 : undefined)
  return before === 0 ? 'new' : changeOf(value, before)
}

/** The previous value and the change, as cells of a file. */
export function changeCells(previous: Previous, key: string, value: number | null): (number | null)[] {
  const { values, isComplete } = previous
  const change = compare(previous, key, value)
  return [
    values.get(key) ?? (isComplete ? 0 : null),
    typeof change === 'number' ? Math.round(change * 10_000) / 10_000 : null,
  ]
}
