import type { Config } from '../config.ts'
import type { RequestTranscript, TranscriptPayload } from '../videos/parts.ts'
import { requestTranscript, requireTranscription } from './request.ts'
import { requestSummary, requireSummaries } from './summaries/request.ts'

/**
 * The transcript and the summary that the payload of a video asks for. A summary includes a transcript. Throws if the
 * operator has not configured them.
 */
export function readTranscriptRequest(
  config: Config,
  { transcript, transcriptSummary, transcriptSummaryAttributes: attributes }: TranscriptPayload,
): RequestTranscript | undefined {
  if (transcript) requireTranscription(config, 'transcript')
  if (transcriptSummary) {
    requireSummaries(config, 'transcriptSummary')
    requireTranscription(config, 'transcriptSummary')
  }
  if (!transcript && !transcriptSummary) return undefined
  return async (trx, { id: videoId, language: known, is_language_detected: isDetected }, request) => {
    const { environment, now } = request
    // A detected language is detected again.
    const language = isDetected ? null : known
    if (transcript) await requestTranscript(trx, { videoId, environment, language })
    if (transcriptSummary) await requestSummary(trx, { environment, videoId, attributes, language, now })
  }
}
