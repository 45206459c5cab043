import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { dropPartialEncoding } from '../../encoding/renditions/partial.ts'
import { isId } from '../../lib/ids.ts'
import type { Tables } from '../../tables.ts'
import { recordUploader } from '../../videos/store.ts'
import type { SourceRow } from '../tables.ts'
import * as store from './store.ts'

/** An upload that a token created belongs to that token as soon as it has received bytes. */
export const hasOwner = ({
  created_by,
  received_pieces,
}: Pick<SourceRow, 'created_by' | 'received_pieces'>) =>
  received_pieces > 0 || created_by === null || !isId('to', created_by)

/**
 * Deletes an upload whose video stays. The video is empty again, but remains closed to tokens of others. The caller has
 * locked the video and then the source, which is the order in which a deletion of the video locks them.
 */
export async function deleteUpload(
  { queue }: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  source: SourceRow,
): Promise<void> {
  if (hasOwner(source)) await recordUploader(trx, source.video_id, source.created_by ?? 'unknown')
  await store.deleteSource(trx, source.video_id)
  await dropPartialEncoding({ queue }, trx, source.video_id)
}
