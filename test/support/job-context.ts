import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openDatabase } from '../../server/database.ts'
import { openDiskFiles } from '../../server/lib/files/disk.ts'
import { createLog } from '../../server/lib/log.ts'
import { openQueue } from '../../server/lib/queue.ts'
import type { Jobs } from '../../server/queues.ts'
import { queues } from '../../server/slices.ts'
import type { Service } from './harness.ts'

/** What a test needs to run the jobs of a service itself. The service must outlive the test. */
export async function openJobContext(t: TestContext, { database, data }: Service) {
  const log = createLog('silent', false)
  const { db, connection, close } = await openDatabase({ databaseUrl: database, dataDir: data }, log)
  const queue = await openQueue<Jobs>({ connection, queues, supervise: false, onError() {} })
  t.after(async () => {
    await queue.close()
    await close()
  })
  return { db, queue, log, files: await openDiskFiles(join(data, 'files')), now: () => new Date() }
}
