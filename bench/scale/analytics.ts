import { dropPartition, listPartitions } from '../../server/analytics/partition-store.ts'
import { videoOf } from '../sessions.ts'
import type { Operation } from './compare.ts'
import { get } from './requests.ts'
import type { Side } from './side.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const since = (ms: number) => `from=${new Date(Date.now() - ms).toISOString()}`

/** Reads of all videos read each session of the period. */
const read = (measured: string, path: string, days: number): Operation[] => [
  {
    measured: `${measured} of ${days === 1 ? 'a day' : 'a month'}`,
    run: (side) => get(side, `${path}${path.includes('?') ? '&' : '?'}${since(days * dayMs)}`),
    grows: 'reads each session of the period',
  },
  ...(days === 1 ? read(measured, path, 29) : []),
]

const unpopular = ({ sizes }: Side) => videoOf(sizes.videos - 10)
const byVideo = (side: Side) => `filterBy[mediaId]=${unpopular(side)}`

const rollback = new Error('rollback')

/** The oldest day that has sessions. It is kept for the next round. */
async function dropDay({ db, sizes }: Side): Promise<void> {
  const sessions = (await listPartitions(db)).filter((name) => name.startsWith('viewing_sessions'))
  const today = new Date().toISOString().slice(0, 10).replaceAll('-', '')
  const oldest = sessions[sessions.findIndex((name) => name.endsWith(today)) - sizes.days + 1]!
  const dropping = db.transaction().execute(async (trx) => {
    await dropPartition(trx, oldest)
    throw rollback
  })
  await dropping.catch((error) => {
    if (error !== rollback) throw error
  })
}

export const analytics: Operation[] = [
  ...read('plays', '/data/metrics/play/count', 1),
  ...read('plays by video', '/data/buckets/play/media-id', 1),
  ...read('plays by hour', '/data/timeseries/play?interval=hour', 1),
  ...read('unique viewers', '/data/metrics/view/count?unique=true', 1),
  ...read('values of a metadata key', '/analytics/metadata/class', 1),
  {
    measured: 'plays of one video in a month',
    run: (side) => get(side, `/data/metrics/play/count?${since(29 * dayMs)}&${byVideo(side)}`),
  },
  {
    measured: 'plays of one video by day in a month',
    run: (side) => get(side, `/data/timeseries/play?interval=day&${since(29 * dayMs)}&${byVideo(side)}`),
  },
  {
    measured: 'viewers at this moment',
    run: (side) => get(side, '/data/metrics/ccv/live'),
    grows: 'reads each session of the last day',
  },
  { measured: 'sessions of one video', run: (side) => get(side, `/analytics/videos/${unpopular(side)}`) },
  {
    measured: 'sessions of one viewer',
    run: (side, n) => get(side, `/analytics/metadata/user?value=user+${n}&${since(dayMs)}`),
    grows: 'reads the sessions of the viewer',
  },
  {
    measured: 'expiry of a day',
    run: dropDay,
    grows: 'adds up the plays of the day',
  },
]
