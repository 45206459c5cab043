import type { Context } from '../contracts/context.ts'
import type { Environment } from '../contracts/tables.ts'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { findVideo } from '../videos/store.ts'
import { alreadyFilled } from './claim.ts'

/** The video must be one that takes uploads. */
export async function findTarget({ db }: Pick<Context, 'db'>, environment: Environment, videoId: string) {
  const video = isId('vi', videoId) ? await findVideo(db, environment, videoId) : undefined
  if (!video) throw notFound('videoId')
  if (video.source_type !== 'upload') throw alreadyFilled(video.source_type === 'clone' ? 'clone' : 'url')
}
