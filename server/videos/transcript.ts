import type { Transaction } from 'kysely'
import type { Config } from '../config.ts'
import type { Environment } from '../environments.ts'
import type { Tables } from '../tables.ts'
import { requestTranscript, requireTranscription } from '../transcripts/request.ts'
import { requestSummary, requireSummaries } from '../transcripts/summaries/request.ts'
import type { VideoUpdate } from './input-schemas.ts'
import type { StoredVideo } from './store.ts'

type Payload = Pick<VideoUpdate, 'transcript' | 'transcriptSummary' | 'transcriptSummaryAttributes'>

/** Throws if the operator has not configured what the payload asks for. */
export function checkTranscriptRequest(config: Config, { transcript, transcriptSummary }: Payload): void {
  if (transcript) requireTranscription(config, 'transcript')
  if (!transcriptSummary) return
  requireSummaries(config, 'transcriptSummary')
  requireTranscription(config, 'transcriptSummary')
}

export const wantsTranscript = ({ transcript, transcriptSummary }: Payload) =>
  transcript === true || transcriptSummary === true

/** Requests what the payload asks for. A summary includes a transcript. */
export async function requestTranscripts(
  trx: Transaction<Tables>,
  { id: videoId, language: known, is_language_detected: isDetected }: StoredVideo,
  { environment, payload, now }: { environment: Environment; payload: Payload; now: Date },
): Promise<void> {
  // A detected language is detected again.
  const language = isDetected ? null : known
  if (payload.transcript) await requestTranscript(trx, { videoId, environment, language })
  if (!payload.transcriptSummary) return
  const attributes = payload.transcriptSummaryAttributes
  await requestSummary(trx, { environment, videoId, attributes, language, now })
}
