import type { Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { newId } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'
import { insertEvent } from './event-store.ts'

/** Every event type, with its fields besides type and time. */
export type EventPayloads = {
  'live-stream.broadcast.started': { liveStreamId: string }
  'live-stream.broadcast.ended': { liveStreamId: string }
  'video.source.recorded': { liveStreamId: string; videoId: string }
  'video.encoding.quality.completed': { videoId: string; encoding: 'hls' | 'mp4'; quality: string }
  'video.encoding.completed': { videoId: string }
  /** `failure` is a sentence for the owner of the video, as in its status. */
  'video.encoding.failed': { videoId: string; failure: string }
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

/** Payloads of test events. */
export const samples: { [Type in EventType]: EventPayloads[Type] } = {
  'live-stream.broadcast.started': { liveStreamId },
  'live-stream.broadcast.ended': { liveStreamId },
  'video.source.recorded': { liveStreamId, videoId },
  'video.encoding.quality.completed': { videoId, encoding: 'hls', quality: '720p' },
  'video.encoding.completed': { videoId },
  'video.encoding.failed': { videoId, failure: 'The file is not a video that can be read.' },
  'video.caption.generated': {
    videoId,
    captionId: 'caption_0000000000000000000000',
    generationMode: 'transcript',
    language: 'en',
  },
  'video.summary.generated': { videoId, summaryId: 'summary_0000000000000000000000' },
}

export const eventTypes = Object.keys(samples) as EventType[]

/**
 * Adds an event to the log, and a delivery for each webhook that subscribes to it now. Called in the transaction of the
 * change that the event reports, so that they are committed together.
 */
export async function recordEvent<Type extends EventType>(
  trx: Transaction<Tables>,
  environment: Environment,
  type: Type,
  payload: EventPayloads[Type],
  now: Date,
): Promise<void> {
  const { videoId, liveStreamId }: { videoId?: string; liveStreamId?: string } = payload
  await insertEvent(trx, {
    id: newId('event_'),
    environment,
    type,
    videoId,
    subject: videoId ?? liveStreamId,
    body: eventBody(type, payload, now),
    emittedAt: now,
  })
}

/** The exact body of every delivery attempt. */
export const eventBody = <Type extends EventType>(type: Type, payload: EventPayloads[Type], now: Date) =>
  JSON.stringify({ type, emittedAt: now.toISOString(), ...payload })
