import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { findUploadTarget } from '../videos/store.ts'
import { sourceExists } from './begin.ts'
import type { UploadTokenRow } from './tables.ts'

/** Checks that the video accepts uploads. For an upload token, only the token's own videos exist. */
export async function checkTarget(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  videoId: string,
  token: UploadTokenRow | undefined,
): Promise<void> {
  const video = isId('vi', videoId) ? await findUploadTarget(db, environment, videoId) : undefined
  if (!video || (token && !isOwn(token, video))) throw notFound('videoId')
  if (video.source_type !== 'upload') throw sourceExists(video.source_type === 'clone' ? 'clone' : 'url')
}

const isOwn = (token: UploadTokenRow, video: { id: string; upload_token: string | null }) =>
  token.video_id === null ? video.upload_token === token.token : video.id === token.video_id

/** The video that the request names or that the token is bound to. Undefined when there is neither. */
export function targetOf(token: UploadTokenRow, namedId: string | undefined): string | undefined {
  if (namedId && token.video_id !== null && namedId !== token.video_id) throw notFound('videoId')
  return namedId || (token.video_id ?? undefined)
}
