import type { Transaction } from 'kysely'
import type { Environment, Tables } from '../contracts/tables.ts'
import { newId } from '../lib/ids.ts'

/** Every kind of event that there is (brief 6.2), with what it tells beside its type and time (brief 6.3). */
export type EventPayloads = {
  'video.encoding.quality.completed': { videoId: string; encoding: 'hls' | 'mp4'; quality: string }
}

/** Writes an event into the log, in the transaction of what it tells of: neither is there without the other. */
export async function recordEvent<Type extends keyof EventPayloads>(
  trx: Transaction<Tables>,
  environment: Environment,
  type: Type,
  payload: EventPayloads[Type],
  now: Date,
): Promise<void> {
  const emittedAt = now.toISOString()
  await trx
    .insertInto('events')
    .values({
      id: newId('event_'),
      environment,
      type,
      video_id: payload.videoId,
      payload: JSON.stringify({ type, emittedAt, ...payload }),
      emitted_at: now,
    })
    .execute()
}
