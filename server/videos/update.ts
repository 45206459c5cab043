import type { Scope } from '../accounts/authenticate.ts'
import type { Context } from '../context.ts'
import { withPlayer } from './create.ts'
import { readMetadata } from './payload.ts'
import type { VideoUpdate } from './schemas.ts'
import { findVideo, type StoredVideo, updateVideo } from './store.ts'

/** A merge: what is absent stays, lists are replaced whole. Undefined when there is no such video. */
export async function changeVideo(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  scope: Scope,
  id: string,
  payload: VideoUpdate,
): Promise<StoredVideo | undefined> {
  const change = {
    title: payload.title,
    description: payload.description,
    public: payload.public,
    panoramic: payload.panoramic,
    mp4_support: payload.mp4Support,
    tags: payload.tags && [...new Set(payload.tags)],
    metadata: payload.metadata && readMetadata(payload.metadata),
    player_id: payload.playerId,
    language: payload.language,
  }
  const isChanged = Object.values(change).some((value) => value !== undefined)
  if (!isChanged) return findVideo(db, scope.environment, id)
  return withPlayer(payload.playerId, () =>
    db.transaction().execute(async (trx) => {
      const video = await updateVideo(trx, scope.environment, id, { ...change, updated_at: now() })
      // The MP4 is made of what is encoded, or removed.
      if (video && payload.mp4Support !== undefined) await queue.send(trx, 'finish-encoding', { videoId: id })
      return video
    }),
  )
}
