import type { Context } from '../../context.ts'
import { encodeArrived } from '../../encoding/early/encode-arrived.ts'
import { removePartial } from '../../encoding/early/remove-partial.ts'
import { exclusively } from '../../lib/db.ts'
import { isId } from '../../lib/ids.ts'
import { RunError } from '../../lib/run.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { Unreadable } from '../../media/probe.ts'
import { hasOtherVersions } from '../../processes/store.ts'
import { recordAllExamined, stopExamining } from '../source/arriving-store.ts'
import * as store from '../source/store.ts'
import { listChunks } from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'
import { arrivedRanges } from './arrived.ts'

type Deps = Pick<Context, 'config' | 'db' | 'locks' | 'files' | 'queue' | 'now' | 'log' | 'space'> & {
  tools: Tools
}

/** Encodes what has arrived of a source. If that is not possible yet, nothing happens. */
export async function encodeEarly(deps: Deps, { videoId }: { videoId: string }): Promise<void> {
  const { config, db, locks, log } = deps
  // Earlier versions would take the beginning for the entire video.
  if (!config.encodesDuringUpload || (await hasOtherVersions(db))) return
  // Concurrent runs would each encode what the other one has planned. One that has waited for too long may give up: the
  // other one looks for more before it ends.
  await exclusively(locks, `early ${videoId}`, async () => {
    let examined: SourceRow | undefined
    for (;;) {
      const source = await store.findSource(db, videoId)
      if (source?.state !== 'receiving' || source.form === 'clone') return
      if (source.examined_at?.getTime() === examined?.examined_at?.getTime()) return
      examined = source
      try {
        await examine(deps, source)
      } catch (error) {
        // The rest of the file may be missing for that.
        if (!(error instanceof Unreadable || error instanceof RunError)) throw error
        log.debug({ err: error, videoId }, 'what has arrived of a source cannot be encoded')
      }
    }
  })
}

async function examine(deps: Deps, source: SourceRow): Promise<void> {
  const { config, db, files } = deps
  const { video_id: videoId, handle, form, total, created_by } = source
  const path = files.pathOfUpload(handle)
  const ranges = arrivedRanges(files, source, await listChunks(db, videoId))
  if (path === undefined || ranges.length === 0) return
  const isToken = created_by !== null && isId('to', created_by)
  const isLast = await encodeArrived(deps, {
    ...{ videoId, handle, path, ranges },
    total: form === 'parts' ? undefined : (total ?? undefined),
    isPlayable: config.playsDuringUpload && !isToken,
    async isCurrent(trx) {
      const now = await store.lockSource(trx, videoId)
      const isSame = now?.handle === handle && now.arrival_revision === source.arrival_revision
      return isSame && now.state === 'receiving'
    },
  })
  if (isLast) await recordAllExamined(db, source)
}

/** What has arrived cannot be encoded. The source is encoded when it is complete. */
export async function giveUpEarly(
  deps: Pick<Context, 'db' | 'files'>,
  { videoId }: { videoId: string },
): Promise<void> {
  await stopExamining(deps.db, videoId)
  await removePartial(deps, { videoId })
}
