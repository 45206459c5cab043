/** A request to the service failed. The message is one sentence for the user. */
export class ClientError extends Error {}

/** URL and API key of the service that the command talks to. */
export type Server = { url: string; key: string }

/** The service responded with an error status. */
export class ResponseError extends ClientError {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function call<T>(
  { url, key }: Server,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<T> {
  const headers = { ...init.headers, authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
  const response = await fetch(url + path, { ...init, method, headers }).catch((error) => {
    if (error.cause instanceof ClientError) throw error.cause
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw new ClientError(`${url} cannot be reached: ${reason || 'no connection'}. Is the service running?`)
  })
  const body = (await response.json().catch(() => ({}))) as { title?: string }
  if (!response.ok)
    throw new ResponseError(response.status, `${url} answered ${response.status}: ${body.title ?? ''}`)
  return body as T
}
