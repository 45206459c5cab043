import type { Transaction } from 'kysely'
import type { Config } from '../config.ts'
import type { Environment } from '../environments.ts'
import { requestSummary, requireSummaries } from '../summaries/request.ts'
import type { Tables } from '../tables.ts'
import { requestTranscript, requireTranscription } from '../transcripts/request.ts'
import type { VideoUpdate } from './schemas.ts'
import type { StoredVideo } from './store.ts'

type Payload = Pick<VideoUpdate, 'transcript' | 'transcriptSummary' | 'transcriptSummaryAttributes'>

/** Whether the payload asks for a transcript. Throws if the operator has not configured what it asks for. */
export function wantsTranscript(config: Config, { transcript, transcriptSummary }: Payload): boolean {
  if (transcript) requireTranscription(config, 'transcript')
  if (transcriptSummary) {
    requireSummaries(config, 'transcriptSummary')
    requireTranscription(config, 'transcriptSummary')
  }
  return transcript === true || transcriptSummary === true
}

/** Requests what the payload asks for. A summary includes a transcript. */
export async function requestTranscripts(
  config: Config,
  trx: Transaction<Tables>,
  { environment, video, payload, now }: {
    environment: Environment
    video: StoredVideo
    payload: Payload
    now: Date
  },
): Promise<void> {
  const videoId = video.id
  // A detected language is detected again.
  const language = video.is_language_detected ? null : video.language
  if (payload.transcript) await requestTranscript(trx, { videoId, environment, language })
  if (!payload.transcriptSummary) return
  const attributes = payload.transcriptSummaryAttributes
  const request = { environment, videoId, attributes, language, name: 'transcriptSummary', now }
  await requestSummary(config, trx, request)
}
