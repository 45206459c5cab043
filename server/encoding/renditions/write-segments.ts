import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../../context.ts'
import { segmentFile } from '../../videos/files.ts'
import type { SegmentsRow } from '../tables.ts'
import * as store from './rendition-store.ts'

/** Writes the initialization and some segments of a rendition to one file. False when it has no initialization. */
export async function writeSegments(
  { db, files }: Pick<Context, 'db' | 'files'>,
  rendition: string,
  segments: { row: SegmentsRow; segment: number }[],
  path: string,
): Promise<boolean> {
  const videoId = segments[0]?.row.video_id ?? ''
  const initialization = await store.findInitialization(db, videoId, rendition)
  if (!initialization) return false
  const { bytes } = initialization
  async function* joined() {
    yield bytes
    for (const { row, segment } of segments)
      yield* await files.read(segmentFile(row.key, segment - row.first_segment))
  }
  await pipeline(joined(), createWriteStream(path))
  return true
}
