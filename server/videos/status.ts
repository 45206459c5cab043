import { findEncodingProgress } from '../encoding/renditions/playable-store.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { findTranscriptStatus } from '../transcripts/status.ts'
import type { VideoStatus } from './status-schemas.ts'
import { findReceived, findVideo } from './store.ts'
import { viewStatus } from './view-status.ts'

/** The progress of upload, encoding and transcript. Undefined when there is no such video. */
export async function findStatus(
  db: Db<Tables>,
  environment: Environment,
  videoId: string,
): Promise<VideoStatus | undefined> {
  const video = await findVideo(db, environment, videoId)
  if (!video) return undefined
  const [source, encoding, transcript] = await Promise.all([
    findReceived(db, videoId),
    findEncodingProgress(db, videoId),
    findTranscriptStatus(db, videoId),
  ])
  return { ...viewStatus(video, source, encoding), transcript }
}
