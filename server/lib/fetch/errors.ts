/** The address may not be requested. The message is a sentence for the tenant who named it. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** Whether another try a little later may end otherwise. */
const retryable = {
  unreachable: true,
  timeout: true,
  dropped: true,
  tls: false,
  protocol: false,
  'too-many-redirects': false,
} as const

export type FailureKind = keyof typeof retryable

/** The message is a sentence for the tenant who named the address; the cause is for the log. */
export class FetchFailed extends Error {
  override readonly name = 'FetchFailed'
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

/** A signal may be aborted with anything; only Errors are thrown. */
export const reasonOf = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new DOMException('The request was aborted.', 'AbortError')
