import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environments.ts'
import { notFound } from '../../lib/errors.ts'
import { isId } from '../../lib/ids.ts'
import type { Tables } from '../../tables.ts'
import { findUploadTarget, recordUploader, type UploadTarget } from '../../videos/store.ts'
import { sourceExists } from '../source/begin.ts'
import * as store from '../source/store.ts'
import type { SourceRow, UploadTokenRow } from '../tables.ts'

/** Checks that the video accepts uploads. For an upload token, a video that it must not fill does not exist. */
export async function checkTarget(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  videoId: string,
  token: UploadTokenRow | undefined,
): Promise<void> {
  const video = isId('vi', videoId) ? await findUploadTarget(db, environment, videoId) : undefined
  if (!video || (token && !(await mayFill(db, token, video)))) throw notFound('videoId')
  if (video.source_type !== 'upload') throw sourceExists(video.source_type === 'clone' ? 'clone' : 'url')
}

/**
 * A bound token can fill its video. Other tokens can fill the videos that they created, and videos that were created
 * with an API key and have never received anything. If several tokens start at once, the claim of the first chunk
 * decides.
 */
async function mayFill(db: Context['db'], token: UploadTokenRow, video: UploadTarget): Promise<boolean> {
  if (token.video_id !== null) return video.id === token.video_id
  if (video.upload_token !== null) return video.upload_token === token.token
  if (video.source_type !== 'upload') return false
  const source = await store.findSource(db, video.id)
  return !source || source.created_by === token.token || !hasOwner(source)
}

/** An upload that a token created belongs to that token as soon as it has received bytes. */
const hasOwner = ({ created_by, received_pieces }: Pick<SourceRow, 'created_by' | 'received_pieces'>) =>
  received_pieces > 0 || created_by === null || !isId('to', created_by)

/**
 * Deletes an upload whose video stays. The video is empty again, but remains closed to tokens of others. The caller has
 * locked the video and then the source, which is the order in which a deletion of the video locks them.
 */
export async function deleteUpload(trx: Transaction<Tables>, source: SourceRow): Promise<void> {
  if (hasOwner(source)) await recordUploader(trx, source.video_id, source.created_by ?? 'unknown')
  await store.deleteSource(trx, source.video_id)
}

/** The video that the request names or that the token is bound to. Undefined when there is neither. */
export function targetOf(token: UploadTokenRow, namedId: string | undefined): string | undefined {
  if (namedId && token.video_id !== null && namedId !== token.video_id) throw notFound('videoId')
  return namedId || (token.video_id ?? undefined)
}
