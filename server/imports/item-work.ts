import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import type { Lease } from '../lib/leases.ts'
import type { WorkerContext } from '../slice.ts'
import type { Run } from './run-store.ts'
import type { ServiceClient } from './services/client.ts'
import type { Library } from './services/service.ts'

/** What the import of one object needs. */
export type ItemWork = {
  context: WorkerContext & { imageLimit: ConcurrencyLimit }
  client: ServiceClient
  library: Library
  run: Run
  lease: Lease
  signal: AbortSignal
}
