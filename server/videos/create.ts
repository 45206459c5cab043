import type { Context } from '../context.ts'
import { ApiError, invalidAttribute } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import { titleOfFile } from '../media/file-title.ts'
import type { Scope } from '../request.ts'
import { videoFolder } from './files.ts'
import type { VideoCreation } from './input-schemas.ts'
import type { RequestTranscript } from './parts.ts'
import { nameFromUrl, readMetadata, readSource } from './payload.ts'
import { findVideo, insertVideo, type NewVideo, type StoredVideo } from './store.ts'
import type { SourceType } from './tables.ts'
import { copyWatermark, findWatermark } from './watermark.ts'
import { withPlayer } from './with-player.ts'

type CreateOptions = {
  uploadToken?: string | null | undefined
  requestTranscript?: RequestTranscript | undefined
}

/**
 * Creates the video and, if it has a source, the job that fetches it, in one transaction. A video that was created with
 * an upload token can only be filled with that token.
 */
export async function createVideo(
  deps: Pick<Context, 'db' | 'files' | 'queue' | 'now'>,
  scope: Scope,
  payload: VideoCreation,
  { uploadToken = null, requestTranscript }: CreateOptions = {},
): Promise<StoredVideo> {
  const { db, files } = deps
  const source = await findSource(db, scope, payload.source)
  const watermark = payload.watermark ? await findWatermark(db, scope, payload.watermark) : null
  const video = buildVideo(payload, {
    environment: scope.environment,
    source,
    watermark,
    uploadToken,
    time: deps.now(),
  })
  // If the process is killed before the row exists, the sweep removes the file.
  if (watermark) await copyWatermark(files, watermark, video.id)
  try {
    await withPlayer(payload.playerId, () => storeVideo(deps, video, requestTranscript))
  } catch (error) {
    // After any other error, the row may exist all the same.
    if (watermark && error instanceof ApiError) await files.remove(videoFolder(video.id))
    throw error
  }
  return video
}

type Facts = Pick<NewVideo, 'environment' | 'watermark'> & {
  source: FoundSource
  uploadToken: string | null
  time: Date
}

function buildVideo(payload: VideoCreation, facts: Facts): NewVideo {
  const { environment, source, watermark, uploadToken, time } = facts
  return {
    id: newId('vi'),
    environment,
    title: payload.title ?? (source.type === 'url' ? titleOfFile(nameFromUrl(source.reference)) : ''),
    description: payload.description ?? '',
    public: payload.public ?? true,
    panoramic: payload.panoramic ?? false,
    mp4_support: payload.mp4Support ?? true,
    playable_during_upload: payload.playableDuringUpload ?? null,
    tags: [...new Set(payload.tags)],
    metadata: readMetadata(payload.metadata ?? []),
    player_id: payload.playerId ?? null,
    language: payload.language ?? null,
    is_language_detected: false,
    source_type: source.type,
    source_reference: source.reference,
    width: null,
    height: null,
    clip: payload.clip
      ? { startTimecode: payload.clip.startTimecode, endTimecode: payload.clip.endTimecode }
      : null,
    watermark,
    created_at: time,
    updated_at: time,
    upload_token: uploadToken,
  }
}

/** Inserts the video with its job and, if it has one, its request for a transcript. */
function storeVideo(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  video: NewVideo,
  requestTranscript: RequestTranscript | undefined,
): Promise<void> {
  if (video.source_type === 'upload' && !requestTranscript) return insertVideo(db, video)
  const { environment, created_at: now } = video
  return db.transaction().execute(async (trx) => {
    await insertVideo(trx, video)
    if (video.source_type !== 'upload') await queue.send(trx, 'fetch-source', { videoId: video.id })
    await requestTranscript?.(trx, video, { environment, now })
  })
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
