import type { Context } from '../../context.ts'
import { LiveBroadcast } from './live-broadcast.ts'
import { type Broadcast, loadWindow } from './store.ts'

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
  for (const row of withinWindow(segments, windowMs)) {
    const { quality, sequence, epoch, bytes, fence } = row
    const times = { durationMs: row.duration_ms, receivedAt: row.received_at.getTime() }
    live.apply({ kind: 'segment', quality, sequence, epoch, ...times, bytes, fence })
  }
  if (targetSeconds !== null) live.apply({ kind: 'visible', targetSeconds, qualities: broadcast.qualities })
  if (broadcast.state === 'ended') live.apply({ kind: 'end' })
  return live
}

type Timed = { quality: string; start_ms: number; duration_ms: number }

/**
 * The segments that are not older than the window of their quality, by their times in the stream. Nobody knows how long the
 * missing segments between them were, so their number alone could let a playlist begin earlier than it did before. The
 * rows are in the order of their numbers.
 */
export function withinWindow<T extends Timed>(rows: readonly T[], windowMs: number): T[] {
  const oldest = new Map<string, number>()
  for (const { quality, start_ms: start, duration_ms: duration } of rows)
    oldest.set(quality, Math.min(start, start + duration - windowMs))
  return rows.filter(({ quality, start_ms: start }) => start >= oldest.get(quality)!)
}
