import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { calculateJwkThumbprint, FlattenedSign, type JWK } from 'jose'
import { readVersion } from '../../lib/version.ts'
import { AcmeError, describeProblem, kindOf, type Problem } from './errors.ts'

// The packages on npm were compared. None of them reports Retry-After or the kind of a problem, has time limits, or can
// be interrupted, and those that are maintained install 50 packages. jose does the cryptography.

type Directory = { newNonce: string; newAccount: string; newOrder: string; renewalInfo?: string }

export type AcmeResponse<T> = { body: T; location: string | undefined; retryAfterMs: number | undefined }

type ClientOptions = { directoryUrl: string; accountKey: KeyObject; signal: AbortSignal }

/** For one request and its answer. A CA that needs longer answers at once and is asked again. */
const requestTimeoutMs = 30_000
const maxBytes = 1024 * 1024
/** A nonce is used up by any request, and old ones expire. */
const maxBadNonces = 3

/** Signed requests to a certificate authority (RFC 8555). It throws an AcmeError, or the reason of the signal. */
export class AcmeClient {
  readonly #directoryUrl: string
  readonly #key: KeyObject
  readonly #signal: AbortSignal
  readonly #jwk: JWK
  #directory: Directory | undefined
  #nonce: string | undefined
  #account: string | undefined
  /** By how much the clock of the authority is ahead of ours. */
  clockOffsetMs = 0

  constructor({ directoryUrl, accountKey, signal }: ClientOptions) {
    this.#directoryUrl = directoryUrl
    this.#key = accountKey
    this.#signal = signal
    const { kty, crv, x, y } = createPublicKey(accountKey).export({ format: 'jwk' }) as JWK
    this.#jwk = { kty, crv, x, y } as JWK
  }

  async directory(): Promise<Directory> {
    if (this.#directory) return this.#directory
    const { body } = await this.#request(this.#directoryUrl, { method: 'GET' })
    const directory = parseObject(body) as Partial<Directory>
    for (const name of ['newNonce', 'newAccount', 'newOrder'] as const)
      if (typeof directory[name] !== 'string')
        throw new AcmeError(`${this.#directoryUrl} is not an ACME directory: it has no ${name}.`)
    this.#directory = directory as Directory
    return this.#directory
  }

  /** Creates the account of the key, or finds it. */
  async login(email: string | undefined): Promise<void> {
    const { newAccount } = await this.directory()
    const contact = email === undefined ? {} : { contact: [`mailto:${email}`] }
    const { location } = await this.post(newAccount, { termsOfServiceAgreed: true, ...contact })
    if (!location) throw new AcmeError(`${newAccount} did not tell the URL of the account.`)
    this.#account = location
  }

  /** What proves to the authority that this account has the domain. */
  keyAuthorization = async (token: string): Promise<string> =>
    `${token}.${await calculateJwkThumbprint(this.#jwk)}`

  /** Without a payload, it reads the resource. */
  async post<T extends object>(url: string, payload?: object): Promise<AcmeResponse<T>> {
    const { body, headers } = await this.#postSigned(url, payload)
    return { ...locationAndDelay(headers), body: (body === '' ? {} : parseObject(body)) as T }
  }

  async download(url: string): Promise<string> {
    return (await this.#postSigned(url, undefined)).body
  }

  async get<T extends object>(url: string): Promise<AcmeResponse<T>> {
    const { body, headers } = await this.#request(url, { method: 'GET' })
    return { ...locationAndDelay(headers), body: parseObject(body) as T }
  }

  async #postSigned(url: string, payload: object | undefined): Promise<{ body: string; headers: Headers }> {
    for (let attempt = 1; ; attempt++) {
      const nonce = this.#nonce ?? (await this.#newNonce())
      this.#nonce = undefined
      const signer = this.#account ? { kid: this.#account } : { jwk: this.#jwk }
      const signed = await new FlattenedSign(Buffer.from(payload ? JSON.stringify(payload) : ''))
        .setProtectedHeader({ alg: 'ES256', nonce, url, ...signer })
        .sign(this.#key)
      try {
        return await this.#request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/jose+json' },
          body: JSON.stringify(signed),
        })
      } catch (error) {
        const isBadNonce = error instanceof AcmeError && error.kind === 'badNonce'
        if (!isBadNonce || attempt === maxBadNonces) throw error
      }
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.directory()
    await this.#request(newNonce, { method: 'HEAD' })
    if (this.#nonce === undefined) throw new AcmeError(`${newNonce} has sent no nonce.`)
    return this.#nonce
  }

  async #request(url: string, init: RequestInit): Promise<{ body: string; headers: Headers }> {
    const { origin } = httpsUrl(url)
    const timeout = AbortSignal.timeout(requestTimeoutMs)
    const headers = { 'user-agent': `Kinora/${readVersion()}`, ...init.headers }
    const signal = AbortSignal.any([this.#signal, timeout])
    let response: Response
    let body: string
    try {
      response = await fetch(url, { ...init, headers, signal })
      // Redirected.
      httpsUrl(response.url)
      body = await readText(response)
    } catch (error) {
      this.#signal.throwIfAborted()
      if (error instanceof AcmeError) throw error
      throw new AcmeError(`${origin} cannot be reached: ${reasonOf(error, timeout)}.`, { cause: error })
    }
    this.#nonce = response.headers.get('replay-nonce') ?? this.#nonce
    const date = Date.parse(response.headers.get('date') ?? '')
    if (!Number.isNaN(date)) this.clockOffsetMs = date - Date.now()
    if (!response.ok) throw refusal(url, response, body)
    return { body, headers: response.headers }
  }
}

/** The authority names URLs itself. All of them have to be secure (RFC 8555, section 6.1). */
function httpsUrl(text: string): URL {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return url
  const message = `The certificate authority has sent "${text}", which is not an HTTPS URL.`
  throw new AcmeError(message, { isOrderOver: true })
}

/** Errors of `fetch` have the reason in their cause. */
function reasonOf(error: unknown, timeout: AbortSignal): string {
  if (timeout.aborted) return `no answer within ${requestTimeoutMs / 1000} seconds`
  const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
  if (/NOT_YET_VALID|HAS_EXPIRED/.test(code ?? ''))
    return `its certificate is not valid at the time of this machine's clock, ${new Date().toISOString()}`
  if (/CERT|ISSUER|SIGNATURE/.test(code ?? ''))
    return `its certificate is not trusted (${code}). If it is your own CA, set NODE_EXTRA_CA_CERTS to the file of its root certificate`
  return message || (code ?? 'unknown error')
}

/** `HEAD` has no body, and a body that is not ACME may be endless. */
async function readText({ body, url }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new AcmeError(`${url} has sent more than a certificate authority does.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseObject(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // Not JSON.
  }
  return {}
}

function refusal(url: string, response: Response, body: string): AcmeError {
  const problem = parseObject(body) as Problem
  const { retryAfterMs } = locationAndDelay(response.headers)
  const said = problem.type || problem.detail ? describeProblem(problem) : `status ${response.status}`
  const { host } = new URL(url)
  return new AcmeError(`${host} answered: ${said}.`, {
    kind: kindOf(problem),
    status: response.status,
    retryAfterMs,
  })
}

function locationAndDelay(headers: Headers): Pick<AcmeResponse<never>, 'location' | 'retryAfterMs'> {
  const value = headers.get('retry-after') ?? ''
  // Seconds, or a date.
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return { location: headers.get('location') ?? undefined, retryAfterMs: ms > 0 ? ms : undefined }
}
