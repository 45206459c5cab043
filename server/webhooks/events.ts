import type { Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { prepare } from '../lib/db.ts'
import { newId } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'

/** Every kind of event that there is (brief 6.2), with what it tells beside its type and time (brief 6.3). */
export type EventPayloads = {
  'live-stream.broadcast.started': { liveStreamId: string }
  'live-stream.broadcast.ended': { liveStreamId: string }
  'video.source.recorded': { liveStreamId: string; videoId: string }
  'video.encoding.quality.completed': { videoId: string; encoding: 'hls' | 'mp4'; quality: string }
  'video.caption.generated': {
    videoId: string
    captionId: string
    generationMode: 'transcript'
    language: string
  }
  'video.summary.generated': { videoId: string; summaryId: string }
}

export type EventType = keyof EventPayloads

const videoId = 'vi0000000000000000000000'
const liveStreamId = 'li0000000000000000000000'

/** What a receiver can be tried with. */
export const samples: { [Type in EventType]: EventPayloads[Type] } = {
  'live-stream.broadcast.started': { liveStreamId },
  'live-stream.broadcast.ended': { liveStreamId },
  'video.source.recorded': { liveStreamId, videoId },
  'video.encoding.quality.completed': { videoId, encoding: 'hls', quality: '720p' },
  'video.caption.generated': {
    videoId,
    captionId: 'caption_0000000000000000000000',
    generationMode: 'transcript',
    language: 'en',
  },
  'video.summary.generated': { videoId, summaryId: 'summary_0000000000000000000000' },
}

export const eventTypes = Object.keys(samples) as EventType[]

/** Told when there may be something to deliver. */
export const deliveriesChannel = 'kinora_deliveries'

const insertEvent = prepare(
  'insert event',
  `with event as (
     insert into events (id, environment, type, video_id, payload, emitted_at)
     values ($1, $2, $3, $4, $5, $6)
   ), made as (
     insert into deliveries (webhook_id, event_id, subject, created_at)
     select id, $1, $7, $6 from webhooks where environment = $2 and $3::text = any(events)
     returning id
   )
   select pg_notify('${deliveriesChannel}', '') from made limit 1`,
)

/**
 * Writes an event into the log, and a delivery for each webhook that subscribes to it now, in the transaction of
 * what it tells of: none is there without the others.
 */
export async function recordEvent<Type extends EventType>(
  trx: Transaction<Tables>,
  environment: Environment,
  type: Type,
  payload: EventPayloads[Type],
  now: Date,
): Promise<void> {
  const about: { videoId?: string; liveStreamId?: string } = payload
  const values = [newId('event_'), environment, type, about.videoId ?? null, textOf(type, payload, now), now]
  await insertEvent(trx, [...values, about.videoId ?? about.liveStreamId])
}

/** The body of every attempt to deliver it, to the letter. */
export const textOf = <Type extends EventType>(type: Type, payload: EventPayloads[Type], now: Date) =>
  JSON.stringify({ type, emittedAt: now.toISOString(), ...payload })
