/** The URL may not be requested. The message is shown to the user who provided it. */
export class UrlNotAllowedError extends Error {
  override readonly name = 'UrlNotAllowedError'
}

/** Whether a retry may succeed. */
const retryable = {
  unreachable: true,
  timeout: true,
  dropped: true,
  tls: false,
  protocol: false,
  'too-many-redirects': false,
} as const

export type FailureKind = keyof typeof retryable
export const fetchFailures = Object.keys(retryable) as FailureKind[]

/** The message is shown to the user who provided the URL. The cause is for the log. */
export class FetchError extends Error {
  override readonly name = 'FetchError'
  readonly kind: FailureKind
  readonly isRetryable: boolean

  constructor(kind: FailureKind, message: string, options: { cause?: unknown; isRetryable?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.isRetryable = options.isRetryable ?? retryable[kind]
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** A signal can be aborted with any value, but only Errors are thrown. */
export const reasonOf = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new DOMException('The request was aborted.', 'AbortError')
