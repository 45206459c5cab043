import type { Context } from '../../context.ts'
import { beginSource, ensureUpload, isLost, newSource, replaceUpload } from '../source/begin.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'>

/** The source of a video whose content the service fetches. Undefined if the video was deleted. */
export async function ensureSource(
  deps: Deps,
  videoId: string,
  form: 'url' | 'clone',
  isRetry: boolean,
): Promise<SourceRow | undefined> {
  let found = await store.findSource(deps.db, videoId)
  if (isRetry && found?.state === 'failed') {
    await resetFailed(deps, videoId)
    found = await store.findSource(deps.db, videoId)
  }
  const origin = { created_by: null, token: null, filename: null, address: null }
  const createRow = (handle: string) => newSource(videoId, form, handle, origin, deps.now())
  if (found && !(await isLost(deps, found))) return ensureUpload(deps, found)
  const begin = found ? replaceUpload : beginSource
  return (await begin(deps, videoId, createRow)) ?? store.findSource(deps.db, videoId)
}

/** A source that could not be fetched is fetched from the beginning. Its upload was abandoned. */
async function resetFailed({ db, now }: Deps, videoId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if ((await store.lockSource(trx, videoId))?.state !== 'failed') return
    await chunkStore.deleteChunks(trx, videoId)
    const nothing = { total: null, size: null, failure: null, validator: null }
    await store.updateSource(trx, videoId, { ...nothing, state: 'receiving', updated_at: now() })
  })
}
