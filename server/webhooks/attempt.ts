import type { Context } from '../context.ts'
import { FetchError, UrlNotAllowedError } from '../lib/fetch/errors.ts'
import type { GuardedResponse } from '../lib/fetch/exchange.ts'
import { type SignatureInput, signatureHeaders } from './sign.ts'
import type { Attempt } from './tables.ts'

/** For the entire attempt: DNS lookup, connection, request, and the part of the response that is read. */
export const attemptTimeoutMs = 5_000
/** Bytes of the response body that are read before the connection is closed. */
const maxRead = 64 * 1024
const maxKept = 1024

export type DeliveryRequest = SignatureInput & { url: string }

/** Sends a delivery once. Never throws: the result describes any failure. */
export async function attemptDelivery(
  { fetch, now }: Pick<Context, 'fetch' | 'now'>,
  delivery: DeliveryRequest,
): Promise<Attempt> {
  const at = now()
  const start = performance.now()
  const outcome = await send(fetch, delivery, at).catch((error) => ({
    status: null,
    answer: null,
    error: explain(error),
  }))
  return { at: at.toISOString(), durationMs: Math.round(performance.now() - start), ...outcome }
}

export const requestHeaders = (delivery: SignatureInput, at: Date) => ({
  'content-type': 'application/json',
  ...signatureHeaders(delivery, at),
})

async function send(
  fetch: Context['fetch'],
  delivery: DeliveryRequest,
  at: Date,
): Promise<Pick<Attempt, 'status' | 'answer' | 'error'>> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new FetchError('timeout', `No response within ${attemptTimeoutMs / 1_000} seconds.`)),
    attemptTimeoutMs,
  )
  try {
    const response = await fetch.request(delivery.url, {
      method: 'POST',
      headers: requestHeaders(delivery, at),
      body: delivery.body,
      signal: timeout.signal,
      maxRedirects: 0,
      connectTimeoutMs: attemptTimeoutMs,
      headersTimeoutMs: attemptTimeoutMs,
      idleTimeoutMs: attemptTimeoutMs,
    })
    const { status } = response
    const isSuccess = status >= 200 && status <= 299
    const answer = await readResponse(response)
    return { status, answer, error: isSuccess ? null : `The response has status ${status}.` }
  } finally {
    clearTimeout(timer)
  }
}

/** Reads the beginning of the body, for the log. The status already decided the outcome, so errors are ignored. */
async function readResponse({ body }: GuardedResponse): Promise<string> {
  const kept: Buffer[] = []
  let read = 0
  try {
    for await (const chunk of body) {
      if (read < maxKept) kept.push(chunk.subarray(0, maxKept - read))
      read += chunk.length
      if (read >= maxRead) break
    }
  } catch {}
  // Postgres does not store NUL in text.
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\ufffd')
}

/** Describes the failure to the owner of the webhook. */
function explain(error: unknown): string {
  if (error instanceof UrlNotAllowedError || error instanceof FetchError) return error.message.toWellFormed()
  return 'The request could not be sent.'
}
