import type { IncomingMessage } from 'node:http'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { invalidAttribute, notFound } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import { readLanguage } from '../lib/languages.ts'
import { findVideo, type StoredVideo } from '../videos/store.ts'
import { saveTrack } from './save.ts'
import type { StoredTrack, TrackKey } from './store.ts'
import type { TrackKind } from './tables.ts'
import { receiveTrack } from './upload.ts'

/** Throws 404 if the environment has no such video. Strings that are not ids never reach the database. */
export async function requireVideo(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  videoId: string,
): Promise<StoredVideo> {
  const video = isId('vi', videoId) ? await findVideo(db, environment, videoId) : undefined
  if (!video) throw notFound('videoId')
  return video
}

/** Throws 400 if there is no such language. */
export function requireLanguage(tag: string): string {
  const language = readLanguage(tag)
  if (language) return language
  throw invalidAttribute('language', '"language" must be a BCP 47 tag of a language, such as en or pt-BR.')
}

export const noTrack = (kind: TrackKind) => notFound('language', `The video has no ${kind} in this language.`)

/** Reads the uploaded file and stores it. */
export async function uploadTrack(
  context: Pick<Context, 'config' | 'db' | 'space'>,
  key: TrackKey,
  request: IncomingMessage,
): Promise<StoredTrack> {
  const content = await receiveTrack(context, request)
  const track = await context.db
    .transaction()
    .execute((trx) => saveTrack(trx, { ...key, content, origin: 'uploaded' }))
  // The video may have been deleted during the upload.
  if (!track) throw notFound('videoId')
  return track
}
