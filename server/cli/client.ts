import { setTimeout as delay } from 'node:timers/promises'

/** A request to the service failed. The message is one sentence for the user. */
export class ClientError extends Error {}

/** URL and API key of the service that the command talks to. */
export type Server = {
  url: string
  key: string
  /** What the user can do if the service cannot be reached. */
  advice: string
  /** What the user can do if the key is refused. */
  adviceAgainst401: string
  /** Whether the URL is that of a service: it has answered. */
  hasAnswered: boolean
  warn: (sentence: string) => void
}

type Problem = { title?: string; name?: string; detail?: string }

/** The service responded with an error status. */
export class ResponseError extends ClientError {
  readonly status: number
  readonly problem: Problem
  constructor({ url, adviceAgainst401 }: Server, status: number, problem: Problem) {
    const { title = '', name, detail } = problem
    const reason = [title, name && `(${name})`, detail].filter(Boolean).join(' ')
    const advice = status === 401 ? ` ${adviceAgainst401}` : ''
    super(`${url} responded with ${status}: ${reason}${advice}`)
    this.status = status
    this.problem = problem
  }
}

/** The service cannot be reached. */
class ConnectionError extends ClientError {}

/** How long commands wait for a service that does not work. A restart of the service and its database takes less. */
const retryForMs = 5 * 60_000
const minDelayMs = 500
const maxDelayMs = 5_000

/**
 * Sends a request. While the service or its database restarts, the request is sent again, so that a command that runs for
 * hours does not end because of a moment. A request that changes something is sent again only if it was refused:
 * otherwise it may have succeeded, and its response was lost. The body must not be a stream.
 */
export async function call<T>(
  server: Server,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<T> {
  const end = Date.now() + retryForMs
  for (let waitMs = minDelayMs; ; waitMs = Math.min(2 * waitMs, maxDelayMs)) {
    try {
      return await callOnce<T>(server, method, path, init)
    } catch (error) {
      if (!isRetryable(error, method, server) || Date.now() > end) throw error
      if (waitMs === minDelayMs) server.warn(`${(error as Error).message} Trying again.`)
      await delay(waitMs, undefined, init.signal ? { signal: init.signal } : {})
    }
  }
}

/** A URL that has never answered is more likely wrong. */
function isRetryable(error: unknown, method: string, { hasAnswered }: Server): boolean {
  if (error instanceof ResponseError && error.status === 429) return true
  if (method !== 'GET') return false
  return error instanceof ResponseError
    ? [502, 503, 504].includes(error.status)
    : error instanceof ConnectionError && hasAnswered
}

/** Sends a request. */
export async function callOnce<T>(
  server: Server,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<T> {
  const { url, key, advice } = server
  const headers = { ...init.headers, authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
  const response = await fetch(url + path, { ...init, method, headers }).catch((error) => {
    if (error.cause instanceof ClientError) throw error.cause
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw new ConnectionError(`${url} cannot be reached: ${reason || 'no connection'}. ${advice}`)
  })
  server.hasAnswered = true
  const warnings = response.headers.get('kinora-warnings')
  if (warnings) server.warn(warnings)
  const body = await response.json().catch(() => undefined)
  if (!response.ok) throw new ResponseError(server, response.status, (body ?? {}) as Problem)
  // A response with one of these may be empty.
  if (body === undefined && response.status !== 202 && response.status !== 204)
    throw new ClientError(
      `${url} is not the API of Kinora: it responded with status ${response.status} without JSON. ${advice}`,
    )
  return body as T
}

export const sendJson = <T>(server: Server, method: string, path: string, body: object) =>
  call<T>(server, method, path, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** All items of a list, from all pages. */
export async function listAll<T>(
  server: Server,
  path: string,
  query: Record<string, string> = {},
): Promise<T[]> {
  const found: T[] = []
  for (let page = 1; ; page++) {
    const pageQuery = new URLSearchParams({ ...query, currentPage: String(page), pageSize: '100' })
    type Page = { data: T[]; pagination: { pagesTotal: number } }
    const { data, pagination } = await call<Page>(server, 'GET', `${path}?${pageQuery}`)
    found.push(...data)
    if (page >= pagination.pagesTotal) return found
  }
}
