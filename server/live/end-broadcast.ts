import type { Context } from '../context.ts'
import { recordEvent } from '../webhooks/events.ts'
import { type Claim, setEnded } from './broadcast-store.ts'

/** Ends a broadcast with its event, exactly once. False if it has ended already, or someone else owns it. */
export function endBroadcast({ db, now }: Pick<Context, 'db' | 'now'>, claim: Claim): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const ended = await setEnded(trx, claim)
    if (!ended) return false
    const { environment, live_stream_id: liveStreamId } = ended
    if (ended.visible_at)
      await recordEvent(trx, environment, 'live-stream.broadcast.ended', { liveStreamId }, now())
    return true
  })
}
