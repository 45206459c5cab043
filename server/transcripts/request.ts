import type { Transaction } from 'kysely'
import type { Config } from '../config.ts'
import { invalidAttribute } from '../lib/errors.ts'
import type { Tables } from '../tables.ts'
import * as store from './store.ts'

/** Whether the operator has configured speech recognition. */
export const canTranscribe = ({ transcription: { url, whisperModel } }: Pick<Config, 'transcription'>) =>
  url !== undefined || whisperModel !== undefined

/** Throws if the operator has not configured speech recognition. `name` is the attribute that asks for it. */
export function requireTranscription(config: Pick<Config, 'transcription'>, name: string): void {
  if (canTranscribe(config)) return
  throw invalidAttribute(
    name,
    'Speech recognition is not configured: set KINORA_TRANSCRIPTION_URL or KINORA_WHISPER_MODEL.',
  )
}

/**
 * Requests the transcript of a video. A failed transcript continues after its last piece. One that is in progress or
 * complete stays as it is, unless the language has changed or its caption was deleted.
 */
export async function requestTranscript(
  trx: Transaction<Tables>,
  request: store.TranscriptRequest,
): Promise<void> {
  const { videoId, language } = request
  await store.insertTranscript(trx, request)
  const transcript = await store.lockTranscript(trx, videoId)
  if (!transcript) return
  const { state } = transcript
  const isOtherLanguage = language !== null && language !== transcript.language
  const isCaptionDeleted =
    state === 'completed' &&
    transcript.language !== null &&
    !(await store.hasCaption(trx, videoId, transcript.language))
  if (isOtherLanguage || state === 'unprocessable') await store.resetTranscript(trx, videoId, language)
  if (isOtherLanguage || isCaptionDeleted || state === 'failed' || state === 'unprocessable')
    await store.restartTranscript(trx, videoId)
  await store.announceWork(trx)
}
