import type { KeptKey } from './kept-key.ts'

const keysUrl = '/dashboard/keys/sandbox'

/** The token that changes need, from the session of the dashboard. Undefined if the reader is not logged in. */
export async function findSession(): Promise<string | undefined> {
  const response = await fetch('/dashboard/session', { headers: { accept: 'application/json' } })
  if (response.status === 401) return undefined
  return (await read<{ csrfToken: string }>(response)).csrfToken
}

export async function createSandboxKey(csrfToken: string): Promise<KeptKey> {
  const name = `Docs samples ${new Date().toISOString().slice(0, 19).replace('T', ' ')}`
  const response = await fetch(keysUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrfToken },
    body: JSON.stringify({ name }),
  })
  const { key, keyId } = await read<{ key: string; keyId: string }>(response)
  return { key, keyId, name }
}

/** A key that has been revoked elsewhere is no failure. */
export async function revokeSandboxKey(csrfToken: string, keyId: string): Promise<void> {
  const response = await fetch(`${keysUrl}/${keyId}`, {
    method: 'DELETE',
    headers: { 'x-csrf-token': csrfToken },
  })
  if (!response.ok && response.status !== 404) await read(response)
}

async function read<T>(response: Response): Promise<T> {
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new Error(body.title ?? `The service responded with ${response.status}.`)
  return body
}
