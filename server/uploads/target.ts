import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { findUploadTarget } from '../videos/store.ts'
import { alreadyFilled } from './begin.ts'
import type { UploadTokenRow } from './tables.ts'

/**
 * Checks that the video takes uploads, by a key or by this token. To a token, a video that is not its own does not
 * exist.
 */
export async function checkTarget(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  videoId: string,
  token: UploadTokenRow | undefined,
): Promise<void> {
  const video = isId('vi', videoId) ? await findUploadTarget(db, environment, videoId) : undefined
  if (!video || (token && !isOwn(token, video))) throw notFound('videoId')
  if (video.source_type !== 'upload') throw alreadyFilled(video.source_type === 'clone' ? 'clone' : 'url')
}

const isOwn = (token: UploadTokenRow, video: { id: string; upload_token: string | null }) =>
  token.video_id === null ? video.upload_token === token.token : video.id === token.video_id

/** The video that a request with a token names, or that its token is bound to; undefined: neither. */
export function targetOf(token: UploadTokenRow, named: string | undefined): string | undefined {
  if (named && token.video_id !== null && named !== token.video_id) throw notFound('videoId')
  return named || (token.video_id ?? undefined)
}
