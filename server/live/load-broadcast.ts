import type { Context } from '../context.ts'
import { type Broadcast, loadWindow } from './broadcast-store.ts'
import { LiveBroadcast } from './live-broadcast.ts'

/** Builds a broadcast from the rows of its complete segments. */
export async function loadBroadcast(
  { config, db }: Pick<Context, 'config' | 'db'>,
  broadcast: Broadcast,
): Promise<LiveBroadcast> {
  const windowMs = config.liveRewindSeconds * 1000
  const { id, live_stream_id: liveStreamId, fence, target_seconds: targetSeconds } = broadcast
  const live = new LiveBroadcast({ id, liveStreamId, fence, windowMs })
  const { inits, segments } = await loadWindow(db, id, windowMs)
  for (const { broadcast_id: _, ...init } of inits) live.apply({ kind: 'init', ...init })
  for (const row of segments) {
    const { quality, sequence, epoch, bytes, fence } = row
    const times = { durationMs: row.duration_ms, receivedAt: row.received_at.getTime() }
    live.apply({ kind: 'segment', quality, sequence, epoch, ...times, bytes, fence })
  }
  if (targetSeconds !== null) live.apply({ kind: 'visible', targetSeconds, qualities: broadcast.qualities })
  if (broadcast.state === 'ended') live.apply({ kind: 'end' })
  return live
}
