import { noteServerTime } from './clock.ts'
import { OfflineError, readProblem } from './problem.ts'

export const environments = ['production', 'sandbox'] as const
export type Environment = (typeof environments)[number]

export const isEnvironment = (value: string): value is Environment =>
  (environments as readonly string[]).includes(value)

type Query = Record<string, string | number | boolean | string[] | Record<string, string> | undefined>
type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
type RequestOptions = { query?: Query; body?: unknown; signal?: AbortSignal | undefined }

/** The server returns it with the session. It has to be sent with every request that changes something. */
let csrfToken = ''

export const setCsrfToken = (token: string) => {
  csrfToken = token
}

export const csrfHeaders = () => ({ 'x-csrf-token': csrfToken })

/** Another tab may have logged in again, which ends the session that this page has loaded. */
export async function renewCsrfToken(): Promise<void> {
  setCsrfToken((await request<{ csrfToken: string }>('GET', '/session')).csrfToken)
}

/** Sends a request with the CSRF token, and once again if the token was that of an earlier session. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await sendOnce(url, init)
  if (response.status !== 403 || !(await readProblem(response.clone())).isStaleToken) return response
  await renewCsrfToken()
  return sendOnce(url, init)
}

const sendOnce = (url: string, init: RequestInit): Promise<Response> =>
  fetch(url, { ...init, headers: { ...init.headers, ...(init.method !== 'GET' && csrfHeaders()) } }).catch(
    (error) => {
      if (error instanceof DOMException && error.name === 'AbortError') throw error
      throw new OfflineError(error)
    },
  )

/** Requests a URL below /dashboard. Resolves to undefined if the response has no body. */
export async function request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
  const { query, body, signal } = options
  const isForm = body instanceof FormData
  const requestedAt = Date.now()
  const response = await send(`/dashboard${path}${query ? writeQuery(query) : ''}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : isForm ? body : JSON.stringify(body),
    signal: signal ?? null,
  })
  noteServerTime(response, requestedAt)
  if (!response.ok) throw await readProblem(response)
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** Where the public API of an environment is for a session of the dashboard. */
export const apiPath = (environment: Environment, path: string) => `/api/${environment}${path}`

/** Requests a URL of the public API, for example `/videos`. */
export function api<T>(
  environment: Environment,
  method: Method,
  path: string,
  options?: RequestOptions,
): Promise<T> {
  return request<T>(method, apiPath(environment, path), options)
}

/** Lists are written as `tags[]=a&tags[]=b`, and objects as `metadata[key]=value`. */
function writeQuery(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    if (Array.isArray(value)) for (const each of value) params.append(`${name}[]`, each)
    else if (typeof value === 'object')
      for (const [key, each] of Object.entries(value)) params.append(`${name}[${key}]`, each)
    else params.append(name, String(value))
  }
  const text = params.toString()
  return text && `?${text}`
}
