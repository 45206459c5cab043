// Reads JSON of other services, whose shape nobody guarantees: what is missing or of another type becomes empty.

export const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}

export const array = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Text that Postgres can store. */
export const string = (value: unknown): string =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : ''

export const bool = (value: unknown, byDefault: boolean): boolean =>
  typeof value === 'boolean' ? value : byDefault

export const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

export const time = (value: unknown): Date | null => {
  const found = typeof value === 'string' ? new Date(value) : undefined
  return found && !Number.isNaN(found.getTime()) ? found : null
}
