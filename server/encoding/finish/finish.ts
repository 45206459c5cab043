import type { Context } from '../../context.ts'
import { exclusively } from '../../lib/db.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { sourceCopyFolder } from '../../videos/files.ts'
import { finishLock } from '../locks.ts'
import { findEncoding } from '../renditions/encoding-store.ts'
import { listRenditions } from '../renditions/rendition-store.ts'
import { reportEnd } from '../renditions/report-end.ts'
import { updateMp4 } from './mp4.ts'
import { removeOrphans } from './orphans.ts'

type Deps = Pick<Context, 'config' | 'db' | 'locks' | 'files' | 'now' | 'log' | 'metrics' | 'space'> & {
  tools: Tools
}

/** Runs after the end of each encoding and whenever `mp4Support` changes. Idempotent. */
export async function finishEncoding(
  deps: Deps,
  { videoId }: { videoId: string },
  retries = 0,
): Promise<void> {
  // Concurrent runs would delete each other's files that are stored but not recorded yet.
  const hasRun = await exclusively(deps.locks, finishLock(videoId), () => finish(deps, videoId, retries))
  if (!hasRun) throw new Error(`another job is finishing ${videoId}`)
}

async function finish(deps: Deps, videoId: string, retries: number): Promise<void> {
  if (await removeIfDeleted(deps, videoId)) return
  await updateMp4(deps, videoId, retries)
  await deps.db.transaction().execute((trx) => reportEnd(trx, videoId, deps.now()))
  await removeOrphans(deps, videoId)
  const encoding = await findEncoding(deps.db, videoId)
  const streams = (await listRenditions(deps.db, videoId)).filter(({ type }) => type === 'hls')
  const isComplete =
    encoding?.state === 'encoded' &&
    encoding.sound_failure === null &&
    streams.every(({ state }) => state === 'encoded')
  // The encoding that is about to be planned and a retry of failed qualities need the copy of the source.
  if (isComplete) await deps.files.remove(sourceCopyFolder(videoId))
}
