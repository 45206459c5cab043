import type { Context } from '../../context.ts'
import { FileNotFoundError } from '../../lib/files/files.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { sourceKey } from '../../videos/files.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import { sourceFailures } from '../metrics.ts'
import { uploadsQueues } from '../queues.ts'
import { failSource } from './fail-source.ts'
import { markStored } from './state.ts'
import * as store from './store.ts'
import { listChunks } from './upload-chunk-store.ts'
import { wakeClones } from './wake-clones.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics'>

/** While another process joins the same chunks, they can be missing for a moment. */
const maxRetriesIfMissing = 3

/** Joins the chunks of a complete upload to one file. Running it again changes nothing. */
export async function storeSource(
  context: Deps,
  { videoId }: { videoId: string },
  retries = 0,
): Promise<void> {
  const { db, files } = context
  const source = await store.findSource(db, videoId)
  if (source?.state === 'stored') await wakeClones(context, videoId)
  if (!source) await removeIfDeleted(context, videoId)
  if (source?.state !== 'received') return
  const rows = (await listChunks(db, videoId)).filter(({ size }) => size > 0)
  const chunks = rows.map(({ place, size }) => ({ location: place!, size }))
  try {
    await files.finishUpload(source.handle, sourceKey(videoId), chunks)
  } catch (thrown) {
    const error = await explainMissing(context, thrown)
    const isMissing = error instanceof FileNotFoundError
    // After the last attempt nothing would end the source.
    if (retries < (isMissing ? maxRetriesIfMissing : uploadsQueues['store-source'].retryLimit)) throw error
    const what = isMissing
      ? 'Parts of the uploaded file are missing.'
      : 'The uploaded file could not be stored.'
    context.log.warn({ err: error, videoId }, 'an upload cannot be stored')
    await failSource(context, videoId, 'received', `${what} Upload it again.`)
    context.metrics.count(sourceFailures, { cause: isMissing ? 'missing' : 'store' })
    return wakeClones(context, videoId)
  }
  await markStored(context, videoId)
  await wakeClones(context, videoId)
}
