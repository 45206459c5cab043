import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { VideoStatus } from '../videos/status-schemas.ts'
import { findProgressMs, findTranscript } from './store.ts'

/** Null when no transcript was requested. */
export async function findTranscriptStatus(
  db: Db<Tables>,
  videoId: string,
): Promise<VideoStatus['transcript']> {
  const row = await findTranscript(db, videoId)
  if (!row) return null
  const doneMs = row.duration_ms === null ? 0 : await findProgressMs(db, videoId)
  const percent = Math.floor((100 * doneMs) / (row.duration_ms ?? 1))
  return {
    status: row.state,
    language: row.language,
    // The caption is missing until the state is `completed`.
    progress: row.state === 'completed' ? 100 : Math.min(99, percent),
    ...(row.failure !== null && { failure: row.failure }),
  }
}
