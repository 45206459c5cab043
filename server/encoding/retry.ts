import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import type { Db } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import type { Tables } from '../tables.ts'
import { lockDiscardState } from '../videos/discarded-store.ts'
import { sourceKey } from '../videos/files.ts'
import { findSourceOfVideo, isReceiving } from '../videos/store.ts'
import { checkStore } from '../videos/store-identity.ts'
import * as chunks from './chunks/encode-chunk-store.ts'
import { listWork } from './chunks/schedule.ts'
import { encodingErrors } from './errors.ts'
import * as encodings from './renditions/encoding-store.ts'
import { audioRendition } from './renditions/playable.ts'
import * as renditions from './renditions/rendition-store.ts'
import type { EncodingPlan, RenditionRow } from './tables.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue'>

/** What a retry does: encode what has failed, examine the source again, or fetch it again. */
type Retry = 'encode' | 'plan' | 'fetch'

/** Encodes failed qualities again. Returns false if nothing has failed, or if the video was just deleted. */
export async function retryEncoding(deps: Deps, videoId: string): Promise<boolean> {
  const found = await encodings.findEncoding(deps.db, videoId)
  if (!found) return false
  const failed = await listFailed(deps.db, videoId)
  const chosen = needsSource(found, failed) ? await chooseRetry(deps, found) : 'encode'
  return deps.db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    if (!video || video.isDiscarded) return false
    const encoding = await encodings.lockEncoding(trx, videoId)
    if (!encoding) return false
    // Another retry may have replaced the encoding in the meantime.
    const retry = needsSource(encoding, await listFailed(trx, videoId)) ? chosen : 'encode'
    if (retry === 'fetch') return fetchAgain(deps, trx, videoId)
    if (encoding.plan && retry === 'encode')
      return encodeFailed(deps, trx, { ...encoding, plan: encoding.plan })
    await encodings.deleteEncoding(trx, videoId)
    await deps.queue.send(trx, 'plan-encoding', { videoId })
    return true
  })
}

/** The MP4 is made from segments, and does not need the source. */
const needsSource = ({ plan, sound_failure }: encodings.Encoding, failed: RenditionRow[]) =>
  !plan || sound_failure !== null || failed.some(({ type }) => type === 'hls')

const listFailed = async (db: Db<Tables>, videoId: string) =>
  (await renditions.listRenditions(db, videoId)).filter(({ state }) => state === 'failed')

/** The file store may have lost the source, or the copy of it that is encoded. */
async function chooseRetry(deps: Deps, { video_id, plan }: encodings.Encoding): Promise<Retry> {
  const { db, files } = deps
  if (await files.stat(sourceKey(video_id))) return plan && (await files.stat(plan.key)) ? 'encode' : 'plan'
  await checkStore(deps)
  const video = await findSourceOfVideo(db, video_id)
  if (video?.source_type !== 'url' && video?.source_type !== 'clone')
    throw new ApiError(encodingErrors.sourceMissing)
  return 'fetch'
}

/** The encoding stays until the file has arrived, because it may be playable in part. */
async function fetchAgain({ queue }: Deps, trx: Transaction<Tables>, videoId: string): Promise<boolean> {
  if (await isReceiving(trx, videoId)) return false
  await queue.send(trx, 'fetch-source', { videoId, isRetry: true })
  return true
}

async function encodeFailed(
  { queue }: Deps,
  trx: Transaction<Tables>,
  encoding: encodings.Encoding & { plan: EncodingPlan },
): Promise<boolean> {
  const { video_id: videoId, plan } = encoding
  const failed = await listFailed(trx, videoId)
  const hasAudioFailed = encoding.sound_failure !== null
  if (failed.length === 0 && !hasAudioFailed) return false
  for (const rendition of failed)
    await renditions.updateRendition(trx, rendition, { state: 'waiting', failure: null })
  const qualities = failed.filter(({ type }) => type === 'hls').map(({ quality }) => quality)
  if (hasAudioFailed) await renditions.deleteSegments(trx, videoId, audioRendition)
  const work = listWork(plan, (rendition) =>
    rendition === audioRendition ? hasAudioFailed : qualities.includes(rendition),
  )
  await chunks.insertChunks(trx, encoding, work)
  await chunks.announceChunks(trx)
  await encodings.updateEncoding(trx, videoId, {
    ...(work.length > 0 && { state: 'encoding', finished_at: null }),
    failure: null,
    sound_failure: null,
    is_end_reported: false,
  })
  // Only the MP4 failed: all of its segments exist.
  if (work.length === 0) await queue.send(trx, 'finish-encoding', { videoId })
  return true
}
