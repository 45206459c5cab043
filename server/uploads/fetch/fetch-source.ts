import type { Context } from '../../context.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import type { Jobs } from '../../queues.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { findSourceOfVideo } from '../../videos/store.ts'
import { sourceFailures } from '../metrics.ts'
import { uploadsQueues } from '../queues.ts'
import { failSource } from '../source/fail-source.ts'
import { wakeClones } from '../source/wake-clones.ts'
import type { SourceRow } from '../tables.ts'
import { copySource } from './copy-source.ts'
import { download, requestFile } from './download.ts'
import { ensureSource } from './ensure-source.ts'
import { SourceFetchError } from './errors.ts'
import { FetchPaused } from './pause-fetch.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics' | 'space'> & {
  fetch: GuardedFetch
  tools: Tools
}

/** Fetches the source of a video from the URL, or copies it from the video, that it was created with. */
export async function fetchSource(
  deps: Deps,
  { videoId, isRetry = false }: Jobs['fetch-source'],
  retries = 0,
): Promise<void> {
  const video = await findSourceOfVideo(deps.db, videoId)
  if (!video?.source_reference) {
    await removeIfDeleted(deps, videoId)
    return
  }
  const form = video.source_type === 'clone' ? 'clone' : 'url'
  const source = await ensureSource(deps, videoId, form, isRetry)
  if (source?.state === 'receiving') await receive(deps, source, video.source_reference, retries)
  // Also when a previous run was killed after it had ended the source. A clone that still has to wait waits again.
  await wakeClones(deps, videoId)
}

async function receive(deps: Deps, source: SourceRow, reference: string, retries: number): Promise<void> {
  const { video_id: videoId } = source
  try {
    if (source.form === 'clone') await copySource(deps, videoId, reference)
    else
      await download(deps, source, (from, validator) =>
        requestFile(deps.fetch, reference, { from, validator }),
      )
  } catch (error) {
    if (error instanceof FetchPaused) return
    const isFinal = error instanceof SourceFetchError
    // After the last attempt nothing would end the source, and its clones would wait forever.
    if (!isFinal && retries < uploadsQueues['fetch-source'].retryLimit) throw error
    const reason = isFinal ? error.message : 'The file could not be stored after hours of retries.'
    if (!(await failSource(deps, videoId, 'receiving', reason))) return
    deps.metrics.count(sourceFailures, { cause: isFinal ? error.failure : 'store' })
    deps.log.info({ videoId, reason, ...(!isFinal && { err: error }) }, 'cannot fetch a source')
    await deps.files.abandonUpload(source.handle)
  }
}
