import { FetchError, UrlNotAllowedError } from '../../lib/fetch/errors.ts'
import type { GuardedResponse, Method } from '../../lib/fetch/exchange.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import { requestFile } from '../../uploads/fetch/download.ts'
import { ServiceBusy, ServiceError } from './errors.ts'
import { readWait } from './rate-limit.ts'

/** A page of a hundred videos with the longest texts that our own API accepts takes 30 MB. */
const maxJsonBytes = 32 * 1024 * 1024
/** Whatever is smaller than that arrives within this time, or else the source sends it byte by byte. */
const maxReadMs = 600_000
const timeouts = { connectTimeoutMs: 10_000, headersTimeoutMs: 30_000, idleTimeoutMs: 30_000 }

type RawRequest = { method?: Method; headers?: Record<string, string>; body?: Buffer | undefined }
type Request = { method?: Method; headers?: Record<string, string>; body?: object }

/**
 * Sends the requests to other services, with the limits that all of them need. Headers with secrets are only sent to the
 * origin of the URL.
 */
export class ServiceClient {
  readonly #fetch: GuardedFetch
  readonly #signal: AbortSignal
  readonly #now: () => number
  /** When the service accepts the next request, by its last response. */
  #waitUntil = 0

  constructor(fetch: GuardedFetch, signal: AbortSignal, now = Date.now) {
    this.#fetch = fetch
    this.#signal = signal
    this.#now = now
  }

  /** The JSON of a response. Throws `ServiceError` with the status if it is not 2xx. */
  async json(url: string, request: Request = {}): Promise<unknown> {
    const body = request.body && Buffer.from(JSON.stringify(request.body))
    const response = await this.#request(url, {
      ...request,
      body,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...request.headers,
      },
    })
    const bytes = await this.#readAll(response, maxJsonBytes)
    try {
      return bytes.length === 0 ? undefined : JSON.parse(bytes.toString())
    } catch {
      throw new ServiceError(`${hostOf(url)} did not answer with JSON.`)
    }
  }

  /** A small file, such as captions. */
  async bytes(url: string, maxBytes: number, headers: Record<string, string> = {}): Promise<Buffer> {
    return this.#readAll(await this.#request(url, { headers }), maxBytes)
  }

  /** A file, from this byte on. */
  async file(
    url: string,
    from: number,
    validator: string | null,
    headers: Record<string, string> = {},
  ): Promise<GuardedResponse> {
    this.#checkWait()
    const refusal = (response: GuardedResponse) =>
      this.#noteLimits(response) ??
      (response.status < 500 ? statusError(hostOf(url), response.status) : undefined)
    return requestFile(this.#fetch, url, { from, validator, headers, signal: this.#signal, refusal })
  }

  async #request(url: string, request: RawRequest): Promise<GuardedResponse> {
    const response = await this.send(url, request)
    const busy = this.#noteLimits(response)
    if (response.status >= 200 && response.status < 300) return response
    response.cancel()
    throw busy ?? statusError(hostOf(url), response.status)
  }

  /** The response, whatever its status. */
  async send(url: string, { method = 'GET', headers = {}, body }: RawRequest): Promise<GuardedResponse> {
    this.#checkWait()
    return this.#fetch
      .request(url, {
        ...timeouts,
        method,
        headers,
        signal: this.#signal,
        maxRedirects: 5,
        ...(body && { body }),
      })
      .catch((error) => {
        throw explain(error)
      })
  }

  /** An error if the request was refused because there were too many. */
  #noteLimits(response: GuardedResponse): ServiceBusy | undefined {
    const waitMs = readWait(response)
    if (waitMs !== undefined) this.#waitUntil = this.#now() + waitMs
    const isBusy = response.status === 429 || (response.status === 503 && waitMs !== undefined)
    return isBusy ? new ServiceBusy(waitMs ?? 60_000) : undefined
  }

  #checkWait(): void {
    const waitMs = this.#waitUntil - this.#now()
    if (waitMs > 0) throw new ServiceBusy(waitMs)
  }

  async #readAll(response: GuardedResponse, maxBytes: number): Promise<Buffer> {
    const host = hostOf(response.url)
    const endsAt = this.#now() + maxReadMs
    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of response.body) {
        size += chunk.length
        if (size > maxBytes) throw new ServiceError(`${host} sent more than ${maxBytes / 1024 ** 2} MiB.`)
        if (this.#now() > endsAt) throw new ServiceError(`${host} sends too slowly.`, { isRetryable: true })
        chunks.push(chunk)
      }
    } catch (error) {
      throw explain(error)
    } finally {
      response.cancel()
    }
    return Buffer.concat(chunks)
  }
}

const hostOf = (url: string) => URL.parse(url)?.host ?? 'The service'

function statusError(host: string, status: number): ServiceError {
  if (status === 401 || status === 403)
    return new ServiceError(`${host} refused the key (status ${status}).`, { status })
  return new ServiceError(`${host} responded with status ${status}.`, { status, isRetryable: status >= 500 })
}

function explain(error: unknown): unknown {
  if (error instanceof UrlNotAllowedError) return new ServiceError(error.message)
  if (error instanceof FetchError) return new ServiceError(error.message, { isRetryable: error.isRetryable })
  return error
}
