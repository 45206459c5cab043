import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openDatabase } from '../../server/database.ts'
import { DiskSpace } from '../../server/lib/disk-space.ts'
import { openDiskFiles } from '../../server/lib/files/disk.ts'
import { createLog } from '../../server/lib/log.ts'
import { createMetrics } from '../../server/lib/metrics.ts'
import { openQueue } from '../../server/lib/queue.ts'
import { findTools } from '../../server/media/ffmpeg.ts'
import type { Jobs } from '../../server/queues.ts'
import { readConfig } from '../../server/read-config.ts'
import { queues } from '../../server/slices.ts'
import type { Service } from './harness.ts'

/** What a test needs to run the jobs of a service itself. The service must outlive the test. */
export async function openJobContext(t: TestContext, { database, data }: Service) {
  const log = createLog('silent', false)
  const { db, locks, pools, close } = await openDatabase({ databaseUrl: database, dataDir: data }, log)
  const queue = await openQueue<Jobs>({ connection: pools.servers, queues, supervise: false, onError() {} })
  t.after(async () => {
    await queue.close()
    await close()
  })
  const config = readConfig({ KINORA_DATABASE_URL: database, KINORA_DATA_DIR: data })
  const space = await DiskSpace.open({ dataDir: data, reserve: { bytes: 0 }, log })
  t.after(() => space.close())
  const tools = await findTools({ ffmpeg: 'ffmpeg', ffprobe: 'ffprobe', stallMs: 60_000 })
  const files = await openDiskFiles(join(data, 'files'))
  const metrics = createMetrics([])
  return { config, db, locks, queue, log, metrics, space, tools, files, now: () => new Date() }
}
