import type { Kysely } from 'kysely'
import type { Config } from './config.ts'
import type { GuardedFetch } from './lib/fetch/guarded-fetch.ts'
import type { Files } from './lib/files/files.ts'
import type { Log } from './lib/log.ts'
import type { Queue } from './lib/queue.ts'
import type { Jobs } from './queues.ts'
import type { Tables } from './tables.ts'

/** What the service works with. Passed first; a function asks for the part it uses. */
export type Context = {
  config: Config
  /** Origin of every address that is given out; known once the port is. */
  publicUrl: string
  db: Kysely<Tables>
  queue: Queue<Jobs>
  files: Files
  /** For addresses that tenants name. */
  fetch: GuardedFetch
  /** By which we know again what we gave out. */
  secret: Buffer
  log: Log
  now: () => Date
}
