import type { Transaction } from 'kysely'
import type { Context } from '../../../context.ts'
import { newId } from '../../../lib/ids.ts'
import type { Tables } from '../../../tables.ts'
import type { Broadcast } from '../../state/store.ts'
import type { RecordingRow } from '../../tables.ts'
import { keyOfTracks, readInit } from './read-segment.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'queue' | 'now'>

const hourMs = 3_600_000

/**
 * Creates the recordings of what has been broadcast, and their jobs. While the broadcast goes on, the last part is left
 * out, because it may become longer. The caller has locked the broadcast.
 */
export async function planRecordings(
  { config, queue, now }: Deps,
  trx: Transaction<Tables>,
  { id, environment, state }: Pick<Broadcast, 'id' | 'environment' | 'state'>,
): Promise<void> {
  const limitSeconds = (environment === 'sandbox' && config.sandbox.seconds) || undefined
  const runs = await store.listUnplanned(trx, id, {
    periodMs: config.liveRecordingHours * hourMs,
    limitMs: limitSeconds && 1000 * limitSeconds,
  })
  const inits = await store.listInits(trx, id, [...new Set(runs.map(({ epoch }) => epoch))])
  const all = divide(runs, inits)
  const parts = state === 'ended' ? all : all.slice(0, -1)
  const first = await store.countRecordings(trx, id)
  const rows = parts.map(
    (part, i): RecordingRow => ({
      broadcast_id: id,
      part: first + i,
      from_sequence: part.from,
      to_sequence: part.to,
      video_id: newId('vi'),
      state: 'waiting',
      reason: null,
      updated_at: now(),
    }),
  )
  await store.insertRecordings(trx, rows)
  for (const { part } of rows) await queue.send(trx, 'record-broadcast', { broadcastId: id, part })
}

type Part = { period: number; video?: string; audio?: string; from: number; to: number }

/** A part has one period and one format of audio. */
function divide(runs: store.Run[], inits: Map<number, Buffer>): Part[] {
  const parts: Part[] = []
  for (const { epoch, period, from, to } of runs) {
    const init = inits.get(epoch)
    const key = init ? keyOfTracks(readInit(init)) : {}
    const last = parts.at(-1)
    const isSame = (a: string | undefined, b: string | undefined) =>
      a === undefined || b === undefined || a === b
    const continues =
      last?.period === period && isSame(last.video, key.video) && isSame(last.audio, key.audio)
    if (continues) Object.assign(last, key, { to })
    else parts.push({ period, ...key, from, to })
  }
  return parts
}

/** Broadcasts in progress are recorded in parts, so that their files do not pile up. */
export async function recordLongBroadcasts(context: Deps & Pick<Context, 'db'>): Promise<void> {
  const { config, db } = context
  for (const id of await store.listLong(db, config.liveRecordingHours * hourMs))
    await db.transaction().execute(async (trx) => {
      const broadcast = await store.lockRunning(trx, id)
      if (broadcast) await planRecordings(context, trx, broadcast)
    })
}

/** Tries failed recordings of a broadcast again. False if there are none. */
export function retryRecordings(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  broadcastId: string,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const parts = await store.resetFailed(trx, broadcastId, now())
    for (const part of parts) await queue.send(trx, 'record-broadcast', { broadcastId, part })
    return parts.length > 0
  })
}
