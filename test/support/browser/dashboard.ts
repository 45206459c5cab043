import { createHash, randomBytes } from 'node:crypto'
import { type ApiResponse, call, query, timeoutMs } from '../harness.ts'

// What a browser does with the dashboard.

/** A logged in browser. */
export type Dashboard = {
  cookie: string
  csrfToken: string
  /** Sends a request with the cookie and the CSRF token, to any process. */
  call(path: string, options?: Options): Promise<ApiResponse>
}

type Options = Omit<NonNullable<Parameters<typeof call>[1]>, 'key'> & { url?: string }

export const cookieOf = ({ headers }: ApiResponse) => headers.get('set-cookie')?.split(';')[0] ?? ''

/** Creates a login link as `kinora login-link` does. */
export async function createLink(database: string, expiresAt = new Date(Date.now() + timeoutMs)) {
  const token = randomBytes(32).toString('base64url')
  const hash = createHash('sha256').update(token).digest()
  await query(database, 'insert into login_links values ($1, now(), $2)', [hash, expiresAt])
  return token
}

/** Logs in without the CPU time of a password. */
export async function logIn({ url, database }: { url: string; database: string }): Promise<Dashboard> {
  const json = { token: await createLink(database) }
  return openDashboard(url, await call(`${url}/dashboard/login-link`, { method: 'POST', key: '', json }))
}

/** Uses the response to a login. */
export function openDashboard(url: string, login: ApiResponse): Dashboard {
  const cookie = cookieOf(login)
  const { csrfToken } = login.body
  const send = (path: string, { headers, url: other = url, ...options }: Options = {}) =>
    call(other + path, {
      ...options,
      key: '',
      headers: { cookie, ...(options.method && { 'x-csrf-token': csrfToken }), ...headers },
    })
  return { cookie, csrfToken, call: send }
}
