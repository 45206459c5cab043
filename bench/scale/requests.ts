import { authorization } from '../servers.ts'
import { videoOf } from '../sessions.ts'
import { encodedVideos } from './fill-encodings.ts'
import { password, type Side } from './side.ts'

/** A different encoded video for each `n`, spread over the table. */
export const sampleVideo = ({ sizes }: Side, n: number) => videoOf(sampleNumber(encodedVideos(sizes), n))

export const sampleNumber = (rows: number, n: number) => Math.floor(((0.5 + n * 0.618034) % 1) * rows)

export async function get(side: Side, path: string): Promise<unknown> {
  const response = await fetch(side.url + path, { headers: { authorization } })
  // The service ends lists and analytics after ten seconds.
  if (response.status === 503) return response.text()
  return bodyOf(response, path)
}

export async function send(side: Side, method: string, path: string, body: object): Promise<unknown> {
  const response = await fetch(side.url + path, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return bodyOf(response, path)
}

export async function bodyOf(response: Response, path: string): Promise<unknown> {
  const body = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`)
  return response.headers.get('content-type')?.includes('json') ? JSON.parse(body) : body
}

const cookies = new WeakMap<Side, Promise<string>>()

/** With a session of the dashboard. */
export async function getFromDashboard(side: Side, path: string): Promise<unknown> {
  const cookie = cookies.get(side) ?? login(side)
  cookies.set(side, cookie)
  return bodyOf(await fetch(side.url + path, { headers: { cookie: await cookie } }), path)
}

async function login({ url }: Side): Promise<string> {
  const response = await fetch(`${url}/dashboard/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ password }),
  })
  await bodyOf(response, '/dashboard/login')
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
