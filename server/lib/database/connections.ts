/** How many connections to the database a process opens at most, for each purpose. docs/postgres.md has this table. */
export type Connections = {
  /** For viewers and jobs, also for jobs with locks, unless a pooler is used. */
  all: number
  /** For requests with an API key. */
  keyed: number
  lists: number
  jobs: number
  listener: number
}

export const defaultConnections = 37
/** Jobs that hold a connection with a lock until they end. */
export const maxLocks = 10
/** With fewer, jobs with locks could take all connections of viewers. */
export const minConnections = 20

/** Divides the connections of a process, as the default: 20, 8, 4, 4 and 1. */
export function shareConnections(total = defaultConnections): Connections {
  const part = (count: number) => Math.round((total * count) / defaultConnections)
  const others = { keyed: part(8), lists: part(4), jobs: part(4), listener: 1 }
  const taken = Object.values(others).reduce((sum, each) => sum + each, 0)
  return { all: total - taken, ...others }
}
