import { setTimeout as delay } from 'node:timers/promises'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { FileMissing, FilesProblem } from './files.ts'

export type S3Settings = {
  endpoint: string
  bucket: string
  region: string
  accessKey: string
  secretKey: string
  /** Files are given out by addresses of the store. */
  isRedirecting?: boolean
  /** Tests do not wait as long as users do. */
  limits?: Partial<Limits>
}

/**
 * How long a store may keep us waiting. A hung store is reported within 30 s: two attempts of 12 s, and 2 s for each
 * step of cleaning up. Only silence is limited while a body is sent or read, as a slow connection is no fault.
 */
export type Limits = {
  connectMs: number
  /** Of one attempt, until the answer; of a body, between two bytes. */
  silenceMs: number
  /** Of all attempts, and of a body that is continued in another request. */
  giveUpMs: number
  /** Of cleaning up after a store that could not be reached. What remains is found later. */
  cleanUpMs: number
}

export const defaultLimits: Limits = {
  connectMs: 3_000,
  silenceMs: 12_000,
  giveUpMs: 24_000,
  cleanUpMs: 2_000,
}

const maxAttempts = 3
/** Silent attempts: a third one would take longer than a client waits. */
const maxSilent = 2

/** The SDK begins to watch a socket after 3 s, unless the limit is below 6 s. */
const socketTimeout = (silenceMs: number) =>
  silenceMs < 6_000 ? silenceMs : Math.max(6_000, silenceMs - 3_000)

/** Bodies below that are hashed on the spot: it takes less time than a thread does to start. */
const smallBytes = 64 * 1024

type Command = Parameters<S3Client['send']>[0]
/** `requestTimeout` limits one attempt and all of them together. */
type Options = { abortSignal?: AbortSignal; requestTimeout?: number }
type Failure = Error & {
  code?: string
  $metadata?: { httpStatusCode?: number; clockSkewCorrected?: boolean }
}

class NoAnswer extends Error {}

export class Sender {
  readonly limits: Limits
  /** For requests with a body. */
  readonly #sending: S3Client
  /** For requests without one. Readers keep connections open for as long as they pause, so no socket is watched. */
  readonly asking: S3Client

  constructor({ endpoint, region, accessKey, secretKey, limits }: S3Settings) {
    this.limits = { ...defaultLimits, ...limits }
    const shared: S3ClientConfig = {
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
      // Attempts are counted below, where it is known what they cost.
      maxAttempts: 1,
      // The default sends checksums as trailers, which many S3-compatible stores do not know. Bodies are signed anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // The default opens a connection for each large body, and waits for the store before it sends it.
      expectContinueHeader: false,
    }
    // The default is 50, and whoever waits for a free one counts as unanswered: 50 slow viewers would stop all uploads.
    const agent = { maxSockets: Number.POSITIVE_INFINITY }
    const handler = { connectionTimeout: this.limits.connectMs, httpAgent: agent, httpsAgent: agent }
    const sending = { ...handler, socketTimeout: socketTimeout(this.limits.silenceMs) }
    this.#sending = new S3Client({ ...shared, requestHandler: sending })
    this.#sending.middlewareStack.add(hashBody(isProtected(new URL(endpoint))), { step: 'build' })
    this.asking = new S3Client({ ...shared, requestHandler: handler })
  }

  /** `send` of the client, with attempts, limits, and errors that the callers know. */
  readonly send: S3Client['send'] = (async (command: Command, options: Options = {}) => {
    const startedAt = Date.now()
    const hasBody = (command.input as { Body?: unknown }).Body !== undefined
    const giveUpMs = hasBody ? Number.POSITIVE_INFINITY : (options.requestTimeout ?? this.limits.giveUpMs)
    let silent = 0
    for (let attempt = 1; ; attempt++) {
      try {
        if (hasBody) return await this.#sending.send(command, options)
        const leftMs = giveUpMs - (Date.now() - startedAt)
        return await this.#ask(
          command,
          options,
          Math.min(leftMs, options.requestTimeout ?? this.limits.silenceMs),
        )
      } catch (error) {
        if (isSilence(error)) silent++
        const isLast = attempt >= maxAttempts || silent >= maxSilent || options.abortSignal?.aborted
        const waitMs = 100 * 2 ** attempt * (0.5 + Math.random())
        const isLate = Date.now() + waitMs - startedAt >= giveUpMs
        if (isLast || isLate || !isTransient(error)) throw judge(error)
        await delay(waitMs, undefined, options.abortSignal && { signal: options.abortSignal })
      }
    }
  }) as S3Client['send']

  async #ask(command: Command, { abortSignal }: Options, withinMs: number): Promise<unknown> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), withinMs)
    const signal = abortSignal ? AbortSignal.any([abortSignal, late.signal]) : late.signal
    try {
      return await this.asking.send(command, { abortSignal: signal })
    } catch (error) {
      throw late.signal.aborted ? new NoAnswer(`no answer within ${withinMs} ms`) : error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#sending.destroy()
    this.asking.destroy()
  }
}

type Request = { body?: unknown; headers: Record<string, string> }
// biome-ignore lint/suspicious/noExplicitAny: the SDK has no name for what its middleware passes on
type Next = (args: any) => Promise<any>

/** Nobody can change what is under way. */
const isProtected = ({ protocol, hostname }: URL) =>
  protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * The signature covers a hash of the body, which the SDK makes in the event loop: half of the time that an upload takes.
 * It is left out where the connection is protected, and otherwise made in another thread.
 */
const hashBody = (isLeftOut: boolean) => (next: Next) => async (args: { request: unknown }) => {
  const { body, headers } = args.request as Request
  if (Buffer.isBuffer(body) && body.length > smallBytes)
    headers['x-amz-content-sha256'] = isLeftOut ? 'UNSIGNED-PAYLOAD' : await sha256(body)
  return next(args)
}

const sha256 = async (body: Buffer) =>
  Buffer.from(await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex')

const networkCodes =
  /^(E(CONN|HOST|NET|PIPE|AI_|PROTO|TIMEDOUT)|ENOTFOUND|CERT_|DEPTH_|SELF_|UNABLE_|ERR_TLS|ERR_SSL)/

/** The SDK calls a connection that was reset a timeout too, but leaves its code. */
const isSilence = (error: unknown) =>
  error instanceof NoAnswer || ((error as Failure).name === 'TimeoutError' && !(error as Failure).code)

/** Whether the same request may succeed in a moment. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'AbortError') return false
  const { name, code = '', $metadata } = error as Failure
  const status = $metadata?.httpStatusCode ?? 0
  // Stores refuse a request whose time is off; the SDK has set its clock by the answer.
  if ($metadata?.clockSkewCorrected) return true
  if (name === 'RequestTimeout' || [408, 429, 500, 502, 503, 504].includes(status)) return true
  return isSilence(error) || networkCodes.test(code)
}

/** Only what `send` throws is judged: a body that breaks off (ECONNRESET) is not the store's doing. */
function judge(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error
  const { name, $metadata } = error as Failure
  const status = $metadata?.httpStatusCode ?? 0
  if (name === 'NoSuchBucket') return new FilesProblem('refused', error)
  if (status === 404) return new FileMissing(error.message || name, { cause: error })
  if (status === 507 || /Quota|StorageFull/.test(name)) return new FilesProblem('full', error)
  if ([301, 307, 401, 403].includes(status) || name === 'AuthorizationHeaderMalformed') {
    return new FilesProblem('refused', error)
  }
  if (isTransient(error) || status >= 500) return new FilesProblem('unreachable', error)
  return error
}
