import { connect as connectTcp } from 'node:net'
import { createGuardedFetch, type GuardedFetch } from '../lib/fetch/guarded-fetch.ts'

/**
 * A server or program that the operator has configured failed. The message is shown to the owner of the video, so it
 * contains no URL.
 */
export class ServerError extends Error {
  readonly isRetryable: boolean
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    options: { isRetryable: boolean; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.isRetryable = options.isRetryable
    this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * A client for the servers that the operator has configured, which may be in a private network. TCP keepalive detects a
 * machine that is gone while the server computes and sends nothing.
 */
export const createServerFetch = (): GuardedFetch =>
  createGuardedFetch({
    allowPrivateNetworks: true,
    userAgent: 'Kinora',
    connect: (host, port) =>
      connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }),
  })

const connectTimeoutMs = 30_000
/** An answer that has begun has been computed, and only has to be sent. */
const maxIdleMs = 300_000
/** The longest piece of speech as JSON with the details of each word has less than a megabyte. */
export const maxAnswerBytes = 2 * 1024 * 1024
const maxRetryAfterMs = 3_600_000

export type ServerRequest = {
  /** `speech recognition` or `language model`, for messages. */
  kind: string
  url: string
  key: string | undefined
  contentType: string
  body: Buffer
  /** For the entire request. A server that computes on a small machine sends nothing for a long time. */
  timeoutMs: number
  signal: AbortSignal
}

/** Sends a request and returns the body of the answer. Redirects are not followed, because they would get the key. */
export async function sendRequest(fetch: GuardedFetch, request: ServerRequest): Promise<string> {
  const { kind, timeoutMs } = request
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch.request(request.url, {
      method: 'POST',
      headers: {
        'content-type': request.contentType,
        accept: 'application/json',
        ...(request.key !== undefined && { authorization: `Bearer ${request.key}` }),
      },
      body: request.body,
      signal: AbortSignal.any([request.signal, timeout]),
      maxRedirects: 0,
      connectTimeoutMs,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: Math.min(maxIdleMs, timeoutMs),
    })
    const { status, headers } = response
    if (status >= 200 && status <= 299) return await readText(kind, response.body)
    const detail = new Error(await readBeginning(response.body))
    throw refusal(kind, status, { retryAfter: headers['retry-after'], cause: detail })
  } catch (error) {
    if (error instanceof ServerError) throw error
    request.signal.throwIfAborted()
    throw timeout.aborted
      ? new ServerError(`The ${kind} server did not respond within ${timeoutMs / 60_000} minutes.`, {
          isRetryable: true,
        })
      : new ServerError(`The ${kind} server could not be reached.`, { isRetryable: true, cause: error })
  }
}

async function readText(kind: string, body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes)
      throw new ServerError(`The ${kind} server sent more than ${maxAnswerBytes / 1024 ** 2} MiB.`, {
        isRetryable: true,
      })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const maxLoggedBytes = 1_024

/** For the log: most servers say what they do not like. */
async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  try {
    for await (const chunk of body) {
      text += chunk.toString('utf8')
      if (text.length >= maxLoggedBytes) break
    }
  } catch {
    // The status decides, whatever happens to the body.
  }
  return text.slice(0, maxLoggedBytes)
}

const retryableStatuses = [408, 409, 425, 429]

function refusal(
  kind: string,
  status: number,
  { retryAfter, cause }: { retryAfter: string | undefined; cause: Error },
): ServerError {
  const isRetryable = status >= 500 || retryableStatuses.includes(status)
  const reasons: Record<number, string> = {
    401: `The ${kind} server rejected the API key (401).`,
    403: `The ${kind} server rejected the API key (403).`,
    413: `The ${kind} server rejected the request as too large (413).`,
    429: `The ${kind} server is overloaded or its quota is used up (429).`,
  }
  const message = reasons[status] ?? `The ${kind} server responded with status ${status}.`
  return new ServerError(message, { isRetryable, retryAfterMs: readRetryAfter(retryAfter), cause })
}

/** A number of seconds or a date. */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined
  const isDate = /^[A-Z][a-z]{2}, /.test(value)
  const ms = isDate ? Date.parse(value) - now : /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.min(maxRetryAfterMs, Math.max(0, ms))
}
