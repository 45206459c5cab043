import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import type { Tables } from '../../tables.ts'
import * as encodings from './encoding-store.ts'

/**
 * Deletes what was encoded from the beginning of a source, because these bytes will not be part of it, or cannot be
 * encoded. Does nothing to the encoding of a complete source.
 */
export async function dropPartialEncoding(
  { queue }: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  videoId: string,
): Promise<boolean> {
  const encoding = await encodings.lockEncoding(trx, videoId)
  if (!encoding?.plan?.partial) return false
  await encodings.deleteEncoding(trx, videoId)
  await queue.send(trx, 'remove-partial', { videoId })
  return true
}
