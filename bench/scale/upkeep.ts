import { dumpDatabase, openSnapshot } from '../../server/backups/database/dump.ts'
import { createMetrics } from '../../server/lib/metrics.ts'
import { metricDefinitions } from '../../server/slices.ts'
import { findLargestVideos, findStored } from '../../server/storage/store.ts'
import { runSweep } from '../../server/sweep/sweep.ts'
import { mergeCounts } from '../../server/videos/count-store.ts'
import { Resources, startKinora } from '../servers.ts'
import type { Operation } from './compare.ts'
import { get, getFromDashboard } from './requests.ts'
import type { Side } from './side.ts'

const newest = '/dashboard/api/production/videos?include[]=status&pageSize=16'

async function start({ folder, env }: Side): Promise<void> {
  await using resources = new Resources()
  await resources.server(startKinora(folder, env))
}

/** One run, which is limited, from the first video on. */
async function sweep(side: Side): Promise<void> {
  const deps = { ...side, locks: side.db, metrics: createMetrics(metricDefinitions), now: () => new Date() }
  await runSweep(deps, new AbortController().signal)
}

const dumpMs = 20_000
const dumped = new WeakMap<Side, number>()

/** Reads rows for a limited time, because all of them take as long as they are many. */
async function dump(side: Side): Promise<void> {
  const end = performance.now() + dumpMs
  let rows = 0
  const snapshot = await openSnapshot(side.pool)
  try {
    for await (const chunk of dumpDatabase(side.pool, snapshot)) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows++
      if (performance.now() > end) break
    }
  } finally {
    await snapshot.close()
  }
  dumped.set(side, rows)
}

export const upkeep: Operation[] = [
  { measured: 'start of a process', run: start },
  {
    measured: 'dashboard: newest videos',
    run: (side) => getFromDashboard(side, newest),
  },
  {
    measured: 'dashboard: videos in progress',
    run: (side) =>
      getFromDashboard(
        side,
        '/dashboard/api/production/videos?status=processing&include[]=status&pageSize=3',
      ),
    grows: 'counts up to 5,000 videos',
  },
  {
    measured: 'dashboard: last views',
    run: (side) => getFromDashboard(side, '/dashboard/api/production/analytics/sessions?pageSize=5'),
    grows: 'counts up to 5,000 sessions',
  },
  {
    measured: 'dashboard: System page',
    run: (side) => getFromDashboard(side, '/dashboard/system'),
    grows: 'adds up the chunks that wait',
  },
  { measured: 'GET /metrics', run: (side) => get(side, '/metrics'), grows: 'counts the chunks that wait' },
  { measured: 'adding up the number of videos', run: ({ db }) => mergeCounts(db) },
  {
    measured: 'a run of the sweep, 500 videos',
    prepare: ({ client }) => client.query(`delete from sweep_state where name in ('run', 'videos')`),
    run: sweep,
  },
  { measured: 'storage by kind', run: ({ db }) => findStored(db), grows: 'reads all rows of segments' },
  {
    measured: 'largest videos',
    run: ({ db }) => findLargestVideos(db, 10),
    grows: 'reads all rows of segments',
  },
  {
    measured: 'backup of the database',
    run: dump,
    per: { unit: 'row', count: (side) => dumped.get(side)! },
  },
]
