import type { Context } from '../context.ts'
import { AddressRefused, FetchFailed } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import { type Signed, signatureHeaders } from './sign.ts'
import type { Attempt } from './tables.ts'

/** For name, connection, request, headers and what is read of the answer together. */
export const answerWithinMs = 5_000
/** A receiver may finish a sentence, not a film. */
const mostRead = 64 * 1024
const mostKept = 1024

export type Parcel = Signed & { url: string }

/** Sends a delivery once. Never throws: whatever happens is told by the result. */
export async function attempt(
  { fetch, now }: Pick<Context, 'fetch' | 'now'>,
  parcel: Parcel,
): Promise<Attempt> {
  const at = now()
  const start = performance.now()
  const late = new AbortController()
  const timer = setTimeout(
    () => late.abort(new FetchFailed('timeout', `No answer within ${answerWithinMs / 1_000} seconds.`)),
    answerWithinMs,
  )
  const result = {
    status: null as number | null,
    answer: null as string | null,
    error: null as string | null,
  }
  try {
    const response = await fetch.request(parcel.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signatureHeaders(parcel, at) },
      body: parcel.body,
      signal: late.signal,
      maxRedirects: 0,
      connectTimeoutMs: answerWithinMs,
      headersTimeoutMs: answerWithinMs,
      idleTimeoutMs: answerWithinMs,
    })
    result.status = response.status
    result.answer = await readAnswer(response)
    if (response.status < 200 || response.status > 299) result.error = `The answer was ${response.status}.`
  } catch (error) {
    result.error = explain(error)
  } finally {
    clearTimeout(timer)
  }
  return { at: at.toISOString(), durationMs: Math.round(performance.now() - start), ...result }
}

/** The beginning, for the log. The status has decided already: what goes wrong from here on changes nothing. */
async function readAnswer({ body }: GuardedResponse): Promise<string> {
  const kept: Buffer[] = []
  let read = 0
  try {
    for await (const chunk of body) {
      if (read < mostKept) kept.push(chunk.subarray(0, mostKept - read))
      read += chunk.length
      if (read >= mostRead) break
    }
  } catch {}
  // Postgres refuses NUL in text.
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\ufffd')
}

/** A sentence for the owner of the webhook. */
function explain(error: unknown): string {
  if (error instanceof AddressRefused || error instanceof FetchFailed) return error.message.toWellFormed()
  return 'The request could not be sent.'
}
