import type { Kysely } from 'kysely'
import type { Config } from './config.ts'
import type { DiskSpace } from './lib/disk-space.ts'
import type { GuardedFetch } from './lib/fetch/guarded-fetch.ts'
import type { Files } from './lib/files/files.ts'
import type { Log } from './lib/log.ts'
import type { Metrics } from './lib/metrics.ts'
import type { Queue } from './lib/queue.ts'
import type { Jobs } from './queues.ts'
import type { Tables } from './tables.ts'

/** The resources of the process. It is the first argument of most functions, which pick the parts they use. */
export type Context = {
  config: Config
  /** Origin of every URL that the API returns. The port is part of it, so it is known once the server listens. */
  publicUrl: () => string
  db: Kysely<Tables>
  /** Its connections keep their session, for advisory locks. */
  locks: Kysely<Tables>
  queue: Queue<Jobs>
  files: Files
  /** What is free on the disks of the data folder. */
  space: DiskSpace
  /** For URLs that tenants supply: it connects to public IP addresses only, unless the settings allow others. */
  fetch: GuardedFetch
  /** Signs the tokens that the service issues. */
  secret: Buffer
  log: Log
  metrics: Metrics
  now: () => Date
}
