import type { Context } from '../context.ts'
import type { Scope } from '../request.ts'
import type { VideoUpdate } from './input-schemas.ts'
import type { RequestTranscript } from './parts.ts'
import { readMetadata } from './payload.ts'
import * as store from './store.ts'
import { withPlayer } from './with-player.ts'

/** Attributes that are absent stay as they are, lists are replaced. Undefined when there is no such video. */
export async function updateVideo(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  scope: Scope,
  id: string,
  payload: VideoUpdate,
  requestTranscript: RequestTranscript | undefined,
): Promise<store.StoredVideo | undefined> {
  const change = {
    title: payload.title,
    description: payload.description,
    public: payload.public,
    panoramic: payload.panoramic,
    mp4_support: payload.mp4Support,
    playable_during_upload: payload.playableDuringUpload,
    tags: payload.tags && [...new Set(payload.tags)],
    metadata: payload.metadata && readMetadata(payload.metadata),
    player_id: payload.playerId,
    language: payload.language,
    is_language_detected: payload.language === undefined ? undefined : false,
  }
  const isChanged =
    requestTranscript !== undefined || Object.values(change).some((value) => value !== undefined)
  if (!isChanged) return store.findVideo(db, scope.environment, id)
  return withPlayer(payload.playerId, () =>
    db.transaction().execute(async (trx) => {
      const video = await store.updateVideo(trx, scope.environment, id, { ...change, updated_at: now() })
      // The job makes the MP4 from the encoded segments, or removes it.
      if (video && payload.mp4Support !== undefined) await queue.send(trx, 'finish-encoding', { videoId: id })
      if (video) await requestTranscript?.(trx, video, { environment: scope.environment, now: now() })
      return video
    }),
  )
}
