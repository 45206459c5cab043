import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { recordEvent } from '../../webhooks/events.ts'
import { type Claim, listAbandoned, listOverdue, setEnded } from '../state/store.ts'
import { planRecordings } from './recording/plan.ts'

/** Ends a broadcast with its event and its recordings, exactly once. False if it has ended, or someone else owns it. */
export function endBroadcast(
  context: Pick<Context, 'config' | 'db' | 'queue' | 'now'>,
  claim: Claim,
): Promise<boolean> {
  const { db, now } = context
  return db.transaction().execute(async (trx) => {
    const ended = await setEnded(trx, claim)
    if (!ended) return false
    const { environment, live_stream_id: liveStreamId } = ended
    if (ended.visible_at)
      await recordEvent(trx, environment, 'live-stream.broadcast.ended', { liveStreamId }, now())
    // What nobody could watch is not recorded.
    if (ended.visible_at && ended.record) await planRecordings(context, trx, ended)
    return true
  })
}

const maxBatch = 100
/** An owner renews its lease every second. */
const renewalMs = 3_000

type Deps = Pick<Context, 'config' | 'db' | 'log' | 'now' | 'queue'>

/** Ends the broadcasts whose encoder has not come back in time. */
export async function endOverdueBroadcasts(context: Deps): Promise<void> {
  const { config, db } = context
  await endAll(context, await listOverdue(db, config.liveReconnectSeconds, maxBatch))
}

/**
 * Ends the broadcasts whose owner was killed and that no process has continued in time. After an outage of the database,
 * all leases are over, and the owners need a moment to renew them.
 */
export async function endAbandonedBroadcasts(context: Deps, closing: AbortSignal): Promise<void> {
  const { config, db } = context
  const list = () => listAbandoned(db, config.liveReconnectSeconds, maxBatch)
  const seen = await list()
  if (seen.length === 0) return
  await delay(renewalMs, undefined, { signal: closing })
  const isSeen = (claim: Claim) => seen.some(({ id, fence }) => id === claim.id && fence === claim.fence)
  await endAll(context, (await list()).filter(isSeen))
}

async function endAll(context: Deps, claims: Claim[]): Promise<void> {
  for (const claim of claims)
    await endBroadcast(context, claim).catch((err) =>
      context.log.warn({ err, broadcastId: claim.id }, 'live: a broadcast could not be ended'),
    )
}
