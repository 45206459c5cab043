import { setTimeout as delay } from 'node:timers/promises'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { FileNotFoundError, FileStoreError } from './files.ts'

export type S3Settings = {
  endpoint: string
  bucket: string
  region: string
  accessKey: string
  secretKey: string
  /** Clients download files from URLs of the store. */
  isRedirecting?: boolean
  /** For tests, which use shorter limits. */
  limits?: Partial<Limits>
}

/**
 * How long to wait for a store. A store that hangs is reported within 30 s: two attempts of 12 s, and 2 s for each step
 * of cleaning up. While a body is sent or read, only idle time is limited, because a slow connection is not an error.
 */
export type Limits = {
  connectMs: number
  /** For one attempt, until the response. For a body, between two reads. */
  idleMs: number
  /** For all attempts, and for resuming a body in another request. */
  totalMs: number
  /** For cleaning up after the store was unreachable. Orphans are removed later. */
  cleanUpMs: number
}

export const defaultLimits: Limits = {
  connectMs: 3_000,
  idleMs: 12_000,
  totalMs: 24_000,
  cleanUpMs: 2_000,
}

const maxAttempts = 3
/** Attempts that time out: a third one would take longer than a client waits. */
const maxTimeouts = 2

/** The SDK begins to watch a socket after 3 s, unless the limit is below 6 s. */
const socketTimeout = (idleMs: number) => (idleMs < 6_000 ? idleMs : Math.max(6_000, idleMs - 3_000))

/** Smaller bodies are hashed in this thread, which is faster than passing them to another one. */
const smallBytes = 64 * 1024

type Command = Parameters<S3Client['send']>[0]
/** `requestTimeout` limits one attempt and all of them together. */
type Options = { abortSignal?: AbortSignal; requestTimeout?: number }
type Failure = Error & {
  code?: string
  $metadata?: { httpStatusCode?: number; clockSkewCorrected?: boolean }
}

class ResponseTimeoutError extends Error {}

/** Sends requests to the store: with retries, time limits, and errors that callers know. */
export class S3Requests {
  readonly limits: Limits
  /** For requests with a body. */
  readonly #bodyClient: S3Client
  /** For requests without a body. It has no socket timeout, because paused readers keep connections open. */
  readonly plainClient: S3Client

  constructor({ endpoint, region, accessKey, secretKey, limits }: S3Settings) {
    this.limits = { ...defaultLimits, ...limits }
    const shared: S3ClientConfig = {
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
      // `send` below retries, because it knows the time limits.
      maxAttempts: 1,
      // The default sends checksums as trailers, which many S3-compatible stores do not support. Bodies are signed anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // The default waits for the store's permission before it sends a large body.
      expectContinueHeader: false,
    }
    // The default is 50, and requests that wait for a free socket time out: 50 slow viewers would stop all uploads.
    const agent = { maxSockets: Number.POSITIVE_INFINITY }
    const handler = { connectionTimeout: this.limits.connectMs, httpAgent: agent, httpsAgent: agent }
    const sending = { ...handler, socketTimeout: socketTimeout(this.limits.idleMs) }
    this.#bodyClient = new S3Client({ ...shared, requestHandler: sending })
    this.#bodyClient.middlewareStack.add(hashBody(isSecure(new URL(endpoint))), { step: 'build' })
    this.plainClient = new S3Client({ ...shared, requestHandler: handler })
  }

  /** Has the signature of S3Client.send. */
  readonly send: S3Client['send'] = (async (command: Command, options: Options = {}) => {
    const startedAt = Date.now()
    const hasBody = (command.input as { Body?: unknown }).Body !== undefined
    const totalMs = hasBody ? Number.POSITIVE_INFINITY : (options.requestTimeout ?? this.limits.totalMs)
    let timeouts = 0
    for (let attempt = 1; ; attempt++) {
      try {
        if (hasBody) return await this.#bodyClient.send(command, options)
        const leftMs = totalMs - (Date.now() - startedAt)
        return await this.#sendWithin(
          command,
          options,
          Math.min(leftMs, options.requestTimeout ?? this.limits.idleMs),
        )
      } catch (error) {
        if (isTimeout(error)) timeouts++
        const isLast = attempt >= maxAttempts || timeouts >= maxTimeouts || options.abortSignal?.aborted
        const waitMs = 100 * 2 ** attempt * (0.5 + Math.random())
        const isLate = Date.now() + waitMs - startedAt >= totalMs
        if (isLast || isLate || !isTransient(error)) throw toKnownError(error)
        await delay(waitMs, undefined, options.abortSignal && { signal: options.abortSignal })
      }
    }
  }) as S3Client['send']

  async #sendWithin(command: Command, { abortSignal }: Options, withinMs: number): Promise<unknown> {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), withinMs)
    const signal = abortSignal ? AbortSignal.any([abortSignal, timeout.signal]) : timeout.signal
    try {
      return await this.plainClient.send(command, { abortSignal: signal })
    } catch (error) {
      throw timeout.signal.aborted ? new ResponseTimeoutError(`no response within ${withinMs} ms`) : error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#bodyClient.destroy()
    this.plainClient.destroy()
  }
}

type Request = { body?: unknown; headers: Record<string, string> }
// biome-ignore lint/suspicious/noExplicitAny: the SDK has no name for what its middleware passes on
type Next = (args: any) => Promise<any>

/** Nobody can change the bytes on their way. */
const isSecure = ({ protocol, hostname }: URL) =>
  protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * The signature covers a hash of the body. The SDK computes it in the event loop, which takes half of the time of an
 * upload. On secure connections the hash is left out. On others it is computed in another thread.
 */
const hashBody = (isUnsigned: boolean) => (next: Next) => async (args: { request: unknown }) => {
  const { body, headers } = args.request as Request
  if (Buffer.isBuffer(body) && body.length > smallBytes)
    headers['x-amz-content-sha256'] = isUnsigned ? 'UNSIGNED-PAYLOAD' : await sha256(body)
  return next(args)
}

const sha256 = async (body: Buffer) =>
  Buffer.from(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex')

const networkCodes =
  /^(E(CONN|HOST|NET|PIPE|AI_|PROTO|TIMEDOUT)|ENOTFOUND|CERT_|DEPTH_|SELF_|UNABLE_|ERR_TLS|ERR_SSL)/

/** The SDK also names a reset connection TimeoutError, but such an error has a code. */
const isTimeout = (error: unknown) =>
  error instanceof ResponseTimeoutError ||
  ((error as Failure).name === 'TimeoutError' && !(error as Failure).code)

/** Whether a retry may succeed. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'AbortError') return false
  const { name, code = '', $metadata } = error as Failure
  const status = $metadata?.httpStatusCode ?? 0
  // Stores reject requests with a wrong time. The SDK has corrected its clock from the response.
  if ($metadata?.clockSkewCorrected) return true
  if (name === 'RequestTimeout' || [408, 429, 500, 502, 503, 504].includes(status)) return true
  return isTimeout(error) || networkCodes.test(code)
}

/** Only for errors of `send`: a request body that breaks off (ECONNRESET) is not an error of the store. */
function toKnownError(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error
  const { name, $metadata } = error as Failure
  const status = $metadata?.httpStatusCode ?? 0
  if (name === 'NoSuchBucket') return new FileStoreError('refused', error)
  if (status === 404) return new FileNotFoundError(error.message || name, { cause: error })
  if (status === 507 || /Quota|StorageFull/.test(name)) return new FileStoreError('full', error)
  if ([301, 307, 401, 403].includes(status) || name === 'AuthorizationHeaderMalformed') {
    return new FileStoreError('refused', error)
  }
  if (isTransient(error) || status >= 500) return new FileStoreError('unreachable', error)
  return error
}
