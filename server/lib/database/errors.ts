/** SQLSTATE of a write on a replica, or on a server that is read-only. */
export const readOnlyCode = '25006'

/** A sentence about why the database cannot be used. */
export class DatabaseError extends Error {}

export const unreachable = (error: unknown) =>
  new DatabaseError(`The database cannot be reached: ${messageOf(error)}.`, { cause: error })

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message
  return error instanceof Error ? error.message : String(error)
}

const connectionErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Whether the error means that the database was unreachable, and not that the query was wrong. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  // SQLSTATE 08: connection error; 57P: the server is stopping or starting; 53: out of connections, memory or disk;
  // 3D000: the database does not exist. A server that does not accept writes is no longer the primary.
  if (connectionErrors.has(code) || /^(08|57P|53|3D000)/.test(code) || code === readOnlyCode) return true
  if (error instanceof AggregateError) return error.errors.some(isUnreachable)
  return connectionMessages.test(error.message)
}

/** Errors of pg and, in the last alternative, Kysely that have no code. */
const connectionMessages =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Postgres connection has been discarded/

/** Whether waiting may help: the server restarts or does not run yet. A missing database is an error of the settings. */
export const isRestarting = (error: unknown): boolean => isUnreachable(error) && codeOf(error) !== '3D000'

/** SQLSTATE 57P: the server is stopping or starting, which takes minutes after a crash. */
export const saysToWait = (error: unknown) => codeOf(error).startsWith('57P')

export const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Whether connecting timed out, which happens on a busy machine. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error &&
  /timeout expired|timeout exceeded when trying to connect|connection timeout/.test(error.message)
