import type { Transaction } from 'kysely'
import type { Environment } from '../../environments.ts'
import type { Tables } from '../../tables.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { recordEvent } from '../../webhooks/events.ts'
import * as encodings from './encoding-store.ts'
import { hasEnded, listRenditions } from './rendition-store.ts'

/**
 * Records the event about the end of an encoding, once for each encoding and each retry. `completed` means that the video
 * is in the state `ready`, although a quality may have failed, and that a wanted MP4 has been made or has failed.
 */
export async function reportEnd(trx: Transaction<Tables>, videoId: string, now: Date): Promise<void> {
  const video = await lockDiscardState(trx, videoId)
  // The end of a discarded video is reported when it is restored.
  if (!video || video.isDiscarded) return
  const encoding = await encodings.lockEncoding(trx, videoId)
  if (!encoding || encoding.state === 'encoding' || encoding.is_end_reported) return
  if (!(await listRenditions(trx, videoId)).every(hasEnded)) return
  await encodings.updateEncoding(trx, videoId, { is_end_reported: true })
  const { environment, state, failure } = encoding
  if (state === 'encoded') await recordEvent(trx, environment, 'video.encoding.completed', { videoId }, now)
  else await recordFailure(trx, environment, videoId, failure ?? 'The video could not be encoded.', now)
}

/** Records that the content of a video cannot be stored. What was encoded before its file was lost still plays. */
export async function reportSourceFailure(
  trx: Transaction<Tables>,
  videoId: string,
  failure: string,
  now: Date,
): Promise<void> {
  const video = await encodings.findVideo(trx, videoId)
  const encoding = await encodings.findEncoding(trx, videoId)
  if (video && encoding?.state !== 'encoded')
    await recordFailure(trx, video.environment, videoId, failure, now)
}

const recordFailure = (
  trx: Transaction<Tables>,
  environment: Environment,
  videoId: string,
  failure: string,
  now: Date,
) => recordEvent(trx, environment, 'video.encoding.failed', { videoId, failure }, now)
