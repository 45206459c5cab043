/** How many connections to the database a process opens at most. docs/postgres.md has this table. */
export const databaseConnections = {
  /** For viewers and jobs. Up to ten jobs hold a connection with a lock until they end. */
  all: 20,
  /** For requests with an API key. */
  keyed: 8,
  lists: 4,
  jobs: 4,
  listener: 1,
}

export const maxConnections = Object.values(databaseConnections).reduce((sum, each) => sum + each, 0)
