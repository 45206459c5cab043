import type { Transaction } from 'kysely'
import type { Config } from '../../config.ts'
import type { Environment } from '../../environments.ts'
import { invalidAttribute } from '../../lib/errors.ts'
import { newId } from '../../lib/ids.ts'
import type { Tables } from '../../tables.ts'
import { requestTranscript } from '../request.ts'
import { announceWork, findTranscript } from '../store.ts'
import { type SummaryAttribute, summaryAttributes } from '../tables.ts'
import { limits } from './limits.ts'
import * as store from './store.ts'

/** Whether the operator has configured a language model. */
export const canSummarize = ({ summaries }: Pick<Config, 'summaries'>) => summaries.url !== undefined

/** Throws if the operator has not configured a language model. `name` is the attribute that asks for it. */
export function requireSummaries(config: Pick<Config, 'summaries'>, name: string): void {
  if (canSummarize(config)) return
  throw invalidAttribute(name, 'Summaries cannot be generated: set KINORA_SUMMARY_URL.')
}

export type SummaryRequest = {
  environment: Environment
  videoId: string
  attributes: SummaryAttribute[] | undefined
  now: Date
}

type WrittenSummary = Pick<SummaryRequest, 'environment' | 'videoId' | 'now'> & {
  text: { abstract: string; takeaways: string[] }
}

/** Without a choice, all attributes. */
const chosen = (attributes: SummaryAttribute[] | undefined) =>
  attributes && attributes.length > 0 ? [...new Set(attributes)] : [...summaryAttributes]

/** Creates a summary that the owner writes. Undefined if the video has a summary. */
export async function createSummary(
  trx: Transaction<Tables>,
  { attributes, ...request }: SummaryRequest,
): Promise<store.Summary | undefined> {
  if (await store.findSummaryOfVideo(trx, request.videoId)) return undefined
  const summary = { ...request, id: newId('summary_'), attributes: chosen(attributes) }
  return store.insertSummary(trx, { ...summary, origin: 'api' })
}

/**
 * Requests a generated summary, and the transcript that it is made from. Undefined if the video has a summary. One that
 * could not be generated is generated again.
 */
export async function requestSummary(
  trx: Transaction<Tables>,
  request: SummaryRequest & { language: string | null },
): Promise<store.Summary | undefined> {
  const { environment, videoId, language, now } = request
  const attributes = chosen(request.attributes)
  const existing = await store.findSummaryOfVideo(trx, videoId)
  const canRestart =
    existing?.origin === 'auto' && (existing.state === 'failed' || existing.state === 'unprocessable')
  if (existing && !canRestart) return undefined
  const transcript = await findTranscript(trx, videoId)
  if (transcript?.state !== 'completed') await requestTranscript(trx, { videoId, environment, language })
  await announceWork(trx)
  if (existing) return store.restartSummary(trx, existing.id, { attributes, now })
  const summary = { id: newId('summary_'), environment, videoId, attributes, now }
  return store.insertSummary(trx, { ...summary, origin: 'auto' })
}

/** Stores a text that was written elsewhere, cut to our limits. Replaces that of the summary that the video has. */
export async function saveWrittenSummary(
  trx: Transaction<Tables>,
  { environment, videoId, text, now }: WrittenSummary,
): Promise<void> {
  const existing = await store.findSummaryOfVideo(trx, videoId)
  const summary = existing ?? (await createSummary(trx, { environment, videoId, attributes: undefined, now }))
  if (!summary) return
  const takeaways = text.takeaways.slice(0, limits.takeaways).map((each) => each.slice(0, limits.takeaway))
  const abstract = text.abstract.slice(0, limits.abstract)
  await store.updateSource(trx, summary.id, { abstract, takeaways, now })
}
