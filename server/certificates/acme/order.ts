import { createPrivateKey } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { readCertificate } from '../details.ts'
import type { AcmeClient, AcmeResponse } from './client.ts'
import { AcmeError, describeProblem, kindOf, type Problem } from './errors.ts'
import { createCertificateRequest, newKey, toPem } from './x509.ts'

type Status = 'pending' | 'processing' | 'ready' | 'valid' | 'invalid' | (string & {})

type Order = {
  status: Status
  authorizations: string[]
  finalize: string
  certificate?: string
  error?: Problem
}
type Challenge = { type: string; url: string; token: string; status: Status; error?: Problem }
type Authorization = { status: Status; identifier: { value: string }; challenges: Challenge[] }

/** What is stored of an order, so that it goes on after the process was killed. */
export type StartedOrder = { url: string; keyPem: string }

export type OrderOptions = {
  domains: string[]
  started: StartedOrder | undefined
  /** The id of the certificate that the new one replaces, for authorities that have renewal information. */
  replaces: string | undefined
  /** Resolves once the order is stored. */
  save(order: StartedOrder): Promise<void>
  /** Resolves once every process answers the challenge. */
  publish(token: string, keyAuthorization: string): Promise<void>
  signal: AbortSignal
}

/** How often and how long an authority that is still working is asked. Let's Encrypt usually needs seconds. */
const pollMs = 1_000
const maxPollMs = 10_000
const maxWaitMs = 5 * 60_000

/** Tokens become part of a path and are base64url (RFC 8555, section 8.3). */
const tokenPattern = /^[\w-]{1,128}$/

/** Orders a certificate, proves that the domains are ours, and returns the certificate with its key. */
export async function orderCertificate(
  client: AcmeClient,
  options: OrderOptions,
): Promise<{ chain: string; keyPem: string }> {
  const { domains, signal } = options
  const { url, keyPem, order } = (await resume(client, options)) ?? (await begin(client, options))
  if (order.status === 'pending')
    for (const authorization of order.authorizations) await authorize(client, authorization, options)
  const read = () => client.post<Order>(url)
  const ready = await poll(read, ({ status }) => status === 'pending', signal)
  if (ready.status === 'ready') {
    const csr = createCertificateRequest(createPrivateKey(keyPem), domains).toString('base64url')
    await client.post<Order>(ready.finalize, { csr })
  }
  const done = await poll(read, ({ status }) => status === 'processing' || status === 'ready', signal)
  if (done.status !== 'valid' || !done.certificate) throw failed(done.error, 'The order was not completed')
  const chain = await client.download(done.certificate)
  checkCertificate(chain, keyPem, domains)
  return { chain, keyPem }
}

type Begun = StartedOrder & { order: Order }

async function begin(client: AcmeClient, { domains, replaces, save }: OrderOptions): Promise<Begun> {
  const { newOrder } = await client.directory()
  const identifiers = domains.map((value) => ({ type: 'dns', value }))
  const { location, body: order } = await client
    .post<Order>(newOrder, { identifiers, ...(replaces && { replaces }) })
    .catch((error) => {
      // Another order has already replaced it, or the authority does not know it any more.
      const isAboutReplacing =
        error instanceof AcmeError && /^(alreadyReplaced|malformed)$/.test(error.kind ?? '')
      if (!replaces || !isAboutReplacing) throw error
      return client.post<Order>(newOrder, { identifiers })
    })
  if (!location) throw new AcmeError(`${newOrder} did not tell the URL of the order.`)
  const started = { url: location, keyPem: toPem(newKey()) }
  await save(started)
  return { ...started, order }
}

/** Undefined if there is no order that can still become a certificate. */
async function resume(client: AcmeClient, { started }: OrderOptions): Promise<Begun | undefined> {
  if (!started) return undefined
  try {
    const { body: order } = await client.post<Order>(started.url)
    return order.status === 'invalid' ? undefined : { ...started, order }
  } catch (error) {
    // An order expires after some days, and authorities refuse the URLs of expired orders in various ways.
    if (error instanceof AcmeError && error.isOrderOver) return undefined
    throw error
  }
}

async function authorize(
  client: AcmeClient,
  url: string,
  { publish, signal }: Pick<OrderOptions, 'publish' | 'signal'>,
): Promise<void> {
  const read = () => client.post<Authorization>(url)
  const { body: authorization } = await read()
  if (authorization.status === 'valid') return
  const domain = authorization.identifier.value
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01')
  if (!challenge || !tokenPattern.test(challenge.token))
    throw new AcmeError(`The certificate authority offers no http-01 challenge for ${domain}.`)
  await publish(challenge.token, await client.keyAuthorization(challenge.token))
  if (challenge.status === 'pending') await client.post(challenge.url, {})
  // Some authorities leave a failed challenge pending, so that it can be tried again.
  const isWorking = (state: Authorization) => state.status === 'pending' && !findProblem(state)
  const result = await poll(read, isWorking, signal)
  if (result.status !== 'valid') throw failed(findProblem(result), `${domain} could not be verified`)
}

const findProblem = ({ challenges }: Authorization) =>
  challenges.find(({ error }) => error !== undefined)?.error

/** Reads until `isWorking` is false. */
async function poll<T extends { status: Status }>(
  read: () => Promise<AcmeResponse<T>>,
  isWorking: (state: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  const end = performance.now() + maxWaitMs
  for (let waitMs = pollMs; ; waitMs = Math.min(2 * waitMs, maxPollMs)) {
    const { body, retryAfterMs = waitMs } = await read()
    if (!isWorking(body)) return body
    if (performance.now() > end)
      throw new AcmeError(
        `The certificate authority has not finished its check within ${maxWaitMs / 60_000} minutes.`,
      )
    await delay(Math.min(retryAfterMs, maxPollMs), undefined, { signal })
  }
}

const failed = (problem: Problem | undefined, sentence: string) =>
  new AcmeError(`${sentence}: ${describeProblem(problem ?? {})}.`, {
    kind: problem && kindOf(problem),
    isOrderOver: true,
  })

/** An authority that answers with something else must not replace a certificate that works. */
function checkCertificate(chain: string, keyPem: string, domains: string[]): void {
  try {
    createSecureContext({ cert: chain, key: keyPem })
    const names = readCertificate(chain).domains
    const missing = domains.filter((domain) => !names.includes(domain))
    if (missing.length > 0) throw new Error(`it is not valid for ${missing.join(', ')}`)
  } catch (error) {
    throw new AcmeError(`The issued certificate cannot be used: ${(error as Error).message}.`, {
      // Its order would deliver it again and again.
      isOrderOver: true,
      cause: error,
    })
  }
}
