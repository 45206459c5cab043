import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { Period } from './data-query.ts'
import { readAllLive, readLive } from './data-store.ts'

/** Viewers who reported within this time count as live. */
const liveMs = 20_000

export const livePeriod = (now: Date): Period => ({ from: new Date(now.getTime() - liveMs), to: now })

/** The number of viewers of one video or live stream: the metric `ccv` with the aggregation `live`. */
export const countViewers = (
  db: Db<Tables>,
  { environment, mediaId }: { environment: Environment; mediaId: string },
  now: Date,
): Promise<number> =>
  readLive(db, { environment, filterBy: { mediaId: [mediaId] }, period: livePeriod(now) }, false)

/** The number of viewers of all videos, and of all live streams. */
export const countAllViewers = (db: Db<Tables>): Promise<Record<'video' | 'live-stream', number>> =>
  readAllLive(db, liveMs)
