import type { Environment } from '../environments.ts'
import type { VideosContext } from './parts.ts'
import type { VideoStatus } from './status-schemas.ts'
import { findVideo } from './store.ts'

/** The progress of upload, encoding and transcript. Undefined when there is no such video. */
export async function findStatus(
  { db, parts }: Pick<VideosContext, 'db' | 'parts'>,
  environment: Environment,
  videoId: string,
): Promise<VideoStatus | undefined> {
  const video = await findVideo(db, environment, videoId)
  if (!video) return undefined
  const [ingest, encoding, transcript] = await Promise.all([
    parts.findIngestStatus(db, video),
    parts.findEncodingStatus(db, videoId),
    parts.findTranscriptStatus(db, videoId),
  ])
  return { ingest, encoding, transcript }
}
