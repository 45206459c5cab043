import type { Context } from '../../context.ts'
import type { Environment } from '../../environments.ts'
import { notFound } from '../../lib/errors.ts'
import { isId } from '../../lib/ids.ts'
import { findUploadTarget, type UploadTarget } from '../../videos/store.ts'
import { sourceExists } from '../source/begin.ts'
import { hasOwner } from '../source/delete-upload.ts'
import * as store from '../source/store.ts'
import type { UploadTokenRow } from '../tables.ts'

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

/** The video that the request names or that the token is bound to. Undefined when there is neither. */
export function targetOf(token: UploadTokenRow, namedId: string | undefined): string | undefined {
  if (namedId && token.video_id !== null && namedId !== token.video_id) throw notFound('videoId')
  return namedId || (token.video_id ?? undefined)
}
