/** The service cannot do what was asked, now or ever. The message is shown to the owner of the import. */
export class ServiceError extends Error {
  readonly status: number | undefined
  readonly isRetryable: boolean

  constructor(
    message: string,
    { status, isRetryable = false }: { status?: number; isRetryable?: boolean } = {},
  ) {
    super(message)
    this.status = status
    this.isRetryable = isRetryable
  }
}

/** The service wants no more requests for a while. Applies to the entire run. */
export class ServiceBusy extends Error {
  readonly waitMs: number

  constructor(waitMs: number) {
    super(`the service asks to wait ${Math.ceil(waitMs / 1000)} s`)
    this.waitMs = waitMs
  }
}

/** The service is still preparing the file. Ask again later. */
export class NotReady extends Error {
  readonly waitMs: number

  constructor(message: string, waitMs: number) {
    super(message)
    this.waitMs = waitMs
  }
}
