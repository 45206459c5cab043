import { sourceFailures } from '../metrics.ts'
import { failSource } from '../source/fail-source.ts'
import { type DownloadDeps, download, type OpenFile } from './download.ts'
import { ensureSource } from './ensure-source.ts'
import { SourceFetchError } from './errors.ts'

/**
 * Fills a video with a file that the caller opens. Continues where an earlier call has ended, and does nothing if the video
 * has its source. Throws `SourceFetchError` if that is not possible, and the video shows the reason.
 */
export async function fetchInto(
  deps: DownloadDeps,
  videoId: string,
  open: OpenFile,
  signal: AbortSignal,
): Promise<void> {
  const source = await ensureSource(deps, videoId, 'url', true)
  if (source?.state !== 'receiving') return
  try {
    await download(deps, source, open, signal)
  } catch (error) {
    if (!(error instanceof SourceFetchError)) throw error
    if (await failSource(deps, videoId, 'receiving', error.message)) {
      deps.metrics.count(sourceFailures, { cause: error.failure })
      await deps.files.abandonUpload(source.handle)
    }
    throw error
  }
}
