import type { Context } from '../../context.ts'
import { findSegmentRow, hlsFolder, mp4Folder } from '../../videos/files.ts'
import { listKnownFiles } from '../renditions/rendition-store.ts'

/**
 * Removes media files of a video that no row refers to. They remain when a worker is killed between storing and recording
 * a file, when a quality fails, and when an MP4 is replaced. A worker that is only slow removes its own files.
 */
export async function removeOrphans(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<void> {
  const segments: string[] = []
  const mp4s: string[] = []
  for await (const key of files.list(hlsFolder(videoId))) segments.push(key)
  for await (const key of files.list(mp4Folder(videoId))) mp4s.push(key)
  // The rows are read after the files are listed: a listed file without a row will never get one.
  const known = await listKnownFiles(db, videoId)
  if (!known) return
  const orphans = new Set(mp4s.filter((key) => !known.mp4Keys.includes(key)))
  for (const file of segments) {
    const { key, isRecorded } = findSegmentRow(file, known.segments)
    // A row may have fewer segments than were stored.
    if (!isRecorded) orphans.add(Object.hasOwn(known.segments, key) ? file : key)
  }
  for (const key of orphans) await files.remove(key)
}
