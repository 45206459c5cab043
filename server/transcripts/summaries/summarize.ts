import type { Context } from '../../context.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import type { Lease } from '../../lib/leases.ts'
import { recordEvent } from '../../webhooks/events.ts'
import { ServerError, sendRequest } from '../server-request.ts'
import { findTranscript, listPhrases } from '../store.ts'
import { countWords } from '../words.ts'
import * as store from './store.ts'
import {
  joinPhrases,
  type Message,
  minTranscriptWords,
  partMessages,
  readCompletion,
  readSummary,
  type SummaryText,
  splitText,
  summaryMessages,
} from './summary-text.ts'

type SummaryContext = Pick<Context, 'config' | 'db' | 'now'> & { serverFetch: GuardedFetch }

/** Generates a summary from the transcript of its video. */
export async function generateSummary(
  context: SummaryContext,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { db, now } = context
  const summary = await store.findLeased(db, lease)
  if (!summary) return
  const end = (state: 'failed' | 'unprocessable', failure: string) =>
    store.endSummary(db, lease, { state, failure, updated_at: now() })
  const transcript = await findTranscript(db, summary.video_id)
  if (transcript?.state === 'unprocessable') {
    await end('unprocessable', transcript.failure ?? '')
    return
  }
  if (transcript?.state !== 'completed' || transcript.language === null) {
    await end('failed', transcript?.failure ?? 'The video has no transcript.')
    return
  }
  const { language } = transcript
  const text = joinPhrases(await listPhrases(db, summary.video_id))
  if (countWords(text, language, minTranscriptWords) < minTranscriptWords) {
    await end('unprocessable', `The transcript has fewer than ${minTranscriptWords} words.`)
    return
  }
  const chat = createChat(context, signal)
  const condensed = await condense(chat, text, {
    language,
    maxCharacters: context.config.summaries.maxCharacters,
  })
  const completion = await chat(summaryMessages(condensed, language, summary.attributes))
  const generated = readSummary(completion, language, summary.attributes)
  if (!generated) throw invalidAnswer()
  await complete(context, lease, summary, generated)
}

export async function failSummary(
  { db, now }: Pick<Context, 'db' | 'now'>,
  lease: Lease,
  reason: string,
): Promise<void> {
  await store.endSummary(db, lease, { state: 'failed', failure: reason, updated_at: now() })
}

async function complete(
  { db, now }: SummaryContext,
  lease: Lease,
  { environment, video_id: videoId, id: summaryId }: store.Summary,
  generated: SummaryText,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const result = { ...generated, state: 'completed', failure: null, updated_at: now() } as const
    if (!(await store.endSummary(trx, lease, result))) return
    await recordEvent(trx, environment, 'video.summary.generated', { videoId, summaryId }, now())
  })
}

type Chat = (messages: Message[]) => Promise<string>

/**
 * Without options for sampling, length and format: each of them is rejected by some server or model.
 */
function createChat({ config, serverFetch }: SummaryContext, signal: AbortSignal): Chat {
  const { url, key, model, timeoutMs } = config.summaries
  return async (messages) => {
    const answer = await sendRequest(serverFetch, {
      kind: 'language model',
      url: url ?? '',
      key,
      timeoutMs,
      signal,
      contentType: 'application/json',
      body: Buffer.from(JSON.stringify({ ...(model !== undefined && { model }), messages, stream: false })),
    })
    const text = readCompletion(answer)
    if (text === undefined) throw invalidAnswer()
    return text
  }
}

const invalidAnswer = () =>
  new ServerError('The language model server returned a response that cannot be used.', { isRetryable: true })

/** Notes are cut off at this fraction of a part, so that every round makes the text shorter. */
const condensation = 8

/** Replaces a text that does not fit into one request by notes about its parts. */
async function condense(
  chat: Chat,
  text: string,
  options: { language: string; maxCharacters: number },
): Promise<string> {
  const { language, maxCharacters } = options
  if (text.length <= maxCharacters) return text
  const notes: string[] = []
  for (const part of splitText(text, maxCharacters)) {
    const note = await chat(partMessages(part, language))
    notes.push(note.trim().slice(0, Math.floor(maxCharacters / condensation)))
  }
  return condense(chat, notes.join('\n'), options)
}
