import type { Context } from '../context.ts'
import { recordEvent } from '../webhooks/events.ts'
import { type Claim, setEnded } from './broadcast-store.ts'
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
