import type { Scope } from '../accounts/authenticate.ts'
import type { Context } from '../context.ts'
import { invalidAttribute } from '../lib/errors.ts'
import { isId, newId } from '../lib/ids.ts'
import { readMetadata, readSource, titleFromUrl } from './payload.ts'
import type { VideoCreation } from './schemas.ts'
import { findVideo, insertVideo, isUnknownPlayer, type NewVideo, type StoredVideo } from './store.ts'
import type { SourceType } from './tables.ts'
import { requestTranscripts, wantsTranscript } from './transcript.ts'

/**
 * Creates the video and, if it has a source, the job that fetches it, in one transaction. A video that was created with
 * an upload token can only be filled with that token.
 */
export async function createVideo(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  scope: Scope,
  payload: VideoCreation,
  uploadToken: string | null = null,
): Promise<StoredVideo> {
  checkWatermark(payload.watermark)
  const isTranscriptWanted = wantsTranscript(payload)
  const source = await findSource(db, scope, payload.source)
  const time = now()
  const video: NewVideo = {
    id: newId('vi'),
    environment: scope.environment,
    title: payload.title ?? (source.type === 'url' ? titleFromUrl(source.reference) : ''),
    description: payload.description ?? '',
    public: payload.public ?? true,
    panoramic: payload.panoramic ?? false,
    mp4_support: payload.mp4Support ?? true,
    tags: [...new Set(payload.tags)],
    metadata: readMetadata(payload.metadata ?? []),
    player_id: payload.playerId ?? null,
    language: payload.language ?? null,
    is_language_detected: false,
    source_type: source.type,
    source_reference: source.reference,
    clip: payload.clip
      ? { startTimecode: payload.clip.startTimecode, endTimecode: payload.clip.endTimecode }
      : null,
    created_at: time,
    updated_at: time,
    upload_token: uploadToken,
  }
  await withPlayer(payload.playerId, () =>
    source.type === 'upload' && !isTranscriptWanted
      ? insertVideo(db, video)
      : db.transaction().execute(async (trx) => {
          await insertVideo(trx, video)
          if (source.type !== 'upload') await queue.send(trx, 'fetch-source', { videoId: video.id })
          if (isTranscriptWanted)
            await requestTranscripts(trx, video, { environment: scope.environment, payload, now: time })
        }),
  )
  return video
}

/** ConcurrencyLimit the database's rejection of an unknown player theme into an API error. */
export async function withPlayer<T>(playerId: string | null | undefined, work: () => Promise<T>): Promise<T> {
  const unknown = () => invalidAttribute('playerId', 'There is no player theme with this id.')
  if (playerId != null && !isId('pl', playerId)) throw unknown()
  try {
    return await work()
  } catch (error) {
    throw isUnknownPlayer(error) ? unknown() : error
  }
}

/** Watermarks cannot be created in this version, so no id is valid. */
function checkWatermark(watermark: VideoCreation['watermark']): void {
  if (!watermark) return
  const title =
    watermark.id === undefined ? 'A watermark needs an id.' : 'There is no watermark with this id.'
  throw invalidAttribute('watermark[id]', title)
}

type FoundSource =
  | { type: Extract<SourceType, 'upload'>; reference: null }
  | { type: Extract<SourceType, 'url' | 'clone'>; reference: string }

async function findSource(db: Context['db'], scope: Scope, source: string | undefined): Promise<FoundSource> {
  if (source === undefined) return { type: 'upload', reference: null }
  const read = readSource(source)
  if (read?.type === 'url') return { type: 'url', reference: read.url }
  if (read?.type === 'clone' && (await findVideo(db, scope.environment, read.videoId))) {
    return { type: 'clone', reference: read.videoId }
  }
  throw invalidAttribute(
    'source',
    '"source" must be an http or https URL, or the id of a video in this environment.',
  )
}
