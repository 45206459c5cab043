/** One helpful sentence about something that the service does not do. */
export class ClientProblem extends Error {}

/** The service as a client knows it. */
export type Server = { url: string; key: string }

export class Answered extends ClientProblem {
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
    if (error.cause instanceof ClientProblem) throw error.cause
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw new ClientProblem(`${url} cannot be reached: ${reason || 'no connection'}. Is the service running?`)
  })
  const body = (await response.json().catch(() => ({}))) as { title?: string }
  if (!response.ok)
    throw new Answered(response.status, `${url} answered ${response.status}: ${body.title ?? ''}`)
  return body as T
}
