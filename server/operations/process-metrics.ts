import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { CachedQuery } from '../lib/cached-query.ts'
import { isReachable } from '../lib/reachable.ts'
import { readVersion } from '../lib/version.ts'
import { runningPrograms } from '../media/sandbox.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'metrics'>

/** Several Prometheus servers may scrape at once. */
const checkMs = 1_000
/** A check of an S3 store is a request, which may cost money. */
const checkStoreMs = 10_000

const roles = ['api', 'worker', 'live'] as const

/** What each process exports about itself. `lib/metrics.ts` has its connections and disks. */
export function exportProcess({ config, db, files, metrics }: Deps): void {
  const labels = { version: readVersion(), node: process.version }
  metrics.gauge(
    { name: 'kinora_build_info', help: 'Always 1, with the versions', labels: Object.keys(labels) },
    () => [{ value: 1, labels }],
  )
  metrics.gauge(
    { name: 'kinora_process_role', help: '1 if the process has this role', labels: ['role'] },
    () => roles.map((role) => ({ value: config.roles.has(role) ? 1 : 0, labels: { role } })),
  )
  metrics.gauge(
    {
      name: 'kinora_ffmpeg_processes',
      help: 'Running ffmpeg and ffprobe processes, for files and for live broadcasts',
      labels: ['kind'],
    },
    () => Object.entries(runningPrograms).map(([kind, value]) => ({ value, labels: { kind } })),
  )

  const ping = new CachedQuery(async () => {
    const startedAt = performance.now()
    const isUp = await isReachable(sql`select 1`.execute(db))
    return { isUp, seconds: (performance.now() - startedAt) / 1_000 }
  }, checkMs)
  metrics.gauge(
    { name: 'kinora_database_up', help: '1 if the database responds within 3 seconds' },
    async () => [{ value: (await ping.read())?.isUp ? 1 : 0 }],
  )
  metrics.gauge(
    {
      name: 'kinora_database_ping_seconds',
      help: 'Duration of a trivial query, including the wait for a connection',
    },
    async () => {
      const result = await ping.read()
      return result?.isUp ? [{ value: result.seconds }] : []
    },
  )
  const check = new CachedQuery(() => isReachable(files.check()), checkStoreMs)
  metrics.gauge(
    { name: 'kinora_store_up', help: '1 if the file store responds within 3 seconds' },
    async () => [{ value: (await check.read()) ? 1 : 0 }],
  )
}
