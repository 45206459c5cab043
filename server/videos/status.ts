import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { VideoStatus } from './schemas.ts'
import { findEncodingProgress, findReceived, findVideo } from './store.ts'
import { viewStatus } from './view.ts'

/** How far upload and encoding of a video are; undefined when there is no such video. */
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
