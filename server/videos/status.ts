import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import { findEncodingProgress } from '../renditions/playable-store.ts'
import type { Tables } from '../tables.ts'
import type { VideoStatus } from './schemas.ts'
import { findReceived, findVideo } from './store.ts'
import { viewStatus } from './view.ts'

/** The progress of upload and encoding. Undefined when there is no such video. */
export async function findStatus(
  db: Db<Tables>,
  environment: Environment,
  videoId: string,
): Promise<VideoStatus | undefined> {
  const video = await findVideo(db, environment, videoId)
  if (!video) return undefined
  const [source, encoding] = await Promise.all([findReceived(db, videoId), findEncodingProgress(db, videoId)])
  return viewStatus(video, source, encoding)
}
