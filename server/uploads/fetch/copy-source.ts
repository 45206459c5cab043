import { createReadStream } from 'node:fs'
import type { Context } from '../../context.ts'
import { muxBest } from '../../encoding/finish/mp4.ts'
import { listRenditions } from '../../encoding/renditions/rendition-store.ts'
import { FileNotFoundError } from '../../lib/files/files.ts'
import { withWorkFolder } from '../../lib/work.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { sourceKey } from '../../videos/files.ts'
import { findSourceOfVideo } from '../../videos/store.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import { markStored } from '../source/state.ts'
import * as store from '../source/store.ts'
import { SourceFetchError } from './errors.ts'
import { pauseIfDiscarded } from './pause-fetch.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'space'> & { tools: Tools }

/** Copies the source of the video `from`. Does nothing if that video has still to receive its own. */
export async function copySource(deps: Deps, videoId: string, from: string): Promise<void> {
  await pauseIfDiscarded(deps, videoId)
  const original = await store.findSource(deps.db, from)
  // The end of an unfinished source wakes the videos that wait for it.
  if (original?.state === 'receiving' || original?.state === 'received') return
  if (!original && (await findSourceOfVideo(deps.db, from))?.source_reference) return
  if (original?.state !== 'stored' && original?.state !== 'dropped')
    throw new SourceFetchError('original', 'The video to copy has no content.')
  const size = await copyFile(deps, videoId, from).catch(async (thrown) => {
    const error = await explainMissing(deps, thrown)
    if (!(error instanceof FileNotFoundError)) throw error
    const cause = (await store.findSource(deps.db, from)) ? 'missing' : 'original'
    throw new SourceFetchError(cause, 'The video to copy was deleted, or its file is missing.')
  })
  await markStored(deps, videoId, { size: size ?? original.size })
}

/** Returns the size if it is not that of the original. */
async function copyFile(deps: Deps, videoId: string, from: string): Promise<number | undefined> {
  try {
    await deps.files.copy(sourceKey(from), sourceKey(videoId))
    return undefined
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) throw error
    // Read after the attempt, because the source may be dropped at any time.
    if ((await store.findSource(deps.db, from))?.state !== 'dropped') throw error
    return copyEncoded(deps, videoId, from)
  }
}

/** The best quality is the next best thing to the source. Returns the size. */
async function copyEncoded(deps: Deps, videoId: string, from: string): Promise<number> {
  const { db, files } = deps
  const mp4 = (await listRenditions(db, from)).find(({ type, key }) => type === 'mp4' && key !== null)
  if (mp4?.key) {
    try {
      await files.copy(mp4.key, sourceKey(videoId))
      return mp4.bytes ?? (await files.stat(sourceKey(videoId)))?.size ?? 0
    } catch (error) {
      // The MP4 was switched off in the meantime.
      if (!(error instanceof FileNotFoundError)) throw error
    }
  }
  return withWorkFolder(deps, async (folder) => {
    const path = await muxBest(deps, from, folder)
    if (!path)
      throw new SourceFetchError(
        'original',
        'The source of the video to copy was removed after it was encoded.',
      )
    return (await files.put(sourceKey(videoId), createReadStream(path))).size
  })
}
