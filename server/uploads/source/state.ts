import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { deleteEncoding, lockEncoding } from '../../encoding/renditions/encoding-store.ts'
import type { Tables } from '../../tables.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import * as store from './store.ts'

/**
 * All bytes of a source have arrived. The caller has locked the source. A job joins the chunks to one file. An encoding
 * exists if the file replaces one that the store has lost. Its parts may not match the new file.
 */
export async function markReceived(
  { queue, now }: Pick<Context, 'queue' | 'now'>,
  trx: Transaction<Tables>,
  videoId: string,
  size: number,
): Promise<void> {
  const arriving = { arriving_owner: null, arriving_from: null, arriving_bytes: null }
  await store.updateSource(trx, videoId, { ...arriving, state: 'received', size, updated_at: now() })
  await deleteOldEncoding(trx, videoId)
  await queue.send(trx, 'store-source', { videoId })
}

/** What was encoded from the beginning of the source stays. Returns whether there is anything. */
async function deleteOldEncoding(trx: Transaction<Tables>, videoId: string): Promise<boolean> {
  const encoding = await lockEncoding(trx, videoId)
  if (encoding?.plan?.partial) return true
  await deleteEncoding(trx, videoId)
  return false
}

/**
 * The source is one file now. Its encoding begins, unless the video was deleted in the meantime. If another job ended the
 * source long ago, it may have been encoded and dropped since. The encoding is all that is left then.
 */
export async function markStored(
  context: Pick<Context, 'db' | 'files' | 'queue' | 'now'>,
  videoId: string,
  change: { size?: number | null } = {},
): Promise<void> {
  const { db, queue, now } = context
  const isRecorded = await db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) return false
    if (source.state === 'dropped') {
      await queue.send(trx, 'remove-source', { videoId })
      return true
    }
    // Another job has stored the file. It was unreadable, and a new upload has replaced it since.
    if (source.state === 'receiving' && source.form !== 'clone') return true
    // Of a lost file that was copied again. Another job may have ended the source, and then its encoding is a new one.
    const isPartial = source.state !== 'stored' && (await deleteOldEncoding(trx, videoId))
    // Another job of the same clone may have found the original deleted.
    await store.updateSource(trx, videoId, { ...change, state: 'stored', failure: null, updated_at: now() })
    await queue.send(trx, isPartial ? 'continue-encoding' : 'plan-encoding', { videoId })
    return true
  })
  if (!isRecorded) await removeIfDeleted(context, videoId)
}
