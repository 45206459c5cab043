import { createPrivateKey, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { keepLease, type Lease, leaseMs } from '../lib/leases.ts'
import { type CertificateAndKey, TlsCertificate } from '../lib/tls-certificate.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { AcmeClient } from './acme/client.ts'
import { AcmeError } from './acme/errors.ts'
import { orderCertificate } from './acme/order.ts'
import {
  certificateId,
  chooseRenewal,
  earliestRenewal,
  findRenewalWindow,
  planRenewal,
} from './acme/renewal-info.ts'
import { createSelfSigned, newKey, toPem } from './acme/x509.ts'
import { readCertificate } from './details.ts'
import { explainFailure } from './explain.ts'
import * as store from './store.ts'

type Acme = NonNullable<Config['acme']>
type Deps = Pick<Context, 'db' | 'log' | 'now'>

/** Nothing announces that an attempt is due. */
const maxSleepMs = 60_000
/** Another process is ordering, or the database is unreachable. */
const shortSleepMs = 5_000
/** An authority that asks to wait longer is asked again nevertheless: the certificate may expire. */
const maxRetryAfterMs = 7 * 86_400_000
/** How soon the authority is asked for the first time when to renew. */
const firstCheckMs = 6 * 3_600_000

/** Processes with the same domains and authority share a certificate. */
export const certificateKey = ({ directoryUrl, domains }: Pick<Acme, 'directoryUrl' | 'domains'>) =>
  `${directoryUrl} ${domains.toSorted().join(',')}`

/**
 * The certificate of KINORA_DOMAIN. It is stored in the database, where every process finds it, and one of the processes
 * orders and renews it. Until the first one is issued, this is an earlier one that is valid for the first domain, because
 * an operator who adds a domain may make a mistake. If there is none, it is self-signed: the service can be reached and
 * checked, but clients that verify certificates do not send an API key to it.
 */
export class AcmeCertificate {
  readonly certificate: TlsCertificate
  readonly #deps: Deps
  readonly settings: Acme
  readonly #key: string
  readonly #changes = createWakeSignal()
  readonly #closing = new AbortController()
  readonly #settled = Promise.withResolvers<void>()
  #running: Promise<void> = Promise.resolve()
  readonly #hasEarlier: boolean
  #isSettled = false
  #chain: string | undefined

  static async open(deps: Deps, acme: Acme): Promise<AcmeCertificate> {
    const row = await store.provideCertificate(deps.db, certificateKey(acme))
    return new AcmeCertificate(deps, acme, row, await findEarlier(deps, acme))
  }

  private constructor(
    deps: Deps,
    acme: Acme,
    row: store.StoredCertificate,
    earlier: CertificateAndKey | undefined,
  ) {
    this.#deps = deps
    this.settings = acme
    this.#key = row.id
    this.certificate = new TlsCertificate(earlier ?? createSelfSigned(acme.domains, deps.now()))
    this.#hasEarlier = earlier !== undefined
    this.#use(row)
  }

  readonly channels = { [store.certificatesChannel]: () => this.#changes.wake() }

  /** False: it is self-signed, or an earlier one. */
  get isIssued(): boolean {
    return this.#chain !== undefined
  }

  get isSelfSigned(): boolean {
    return !this.isIssued && !this.#hasEarlier
  }

  /** Waits until there is a certificate, the first attempt has failed, the time is over, or the process stops. */
  async whenSettled(timeoutMs: number, stopping: AbortSignal): Promise<void> {
    const timeout = delay(timeoutMs, undefined, { signal: stopping, ref: false }).catch(() => {})
    await Promise.race([this.#settled.promise, timeout])
  }

  /** To be called once the challenges of the authority are answered. */
  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#changes.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { log } = this.#deps
    while (!this.#closing.signal.aborted) {
      const sleep = this.#changes.listen()
      const sleepMs = await this.#step().catch((err) => {
        log.warn({ err }, 'the state of the certificate could not be read or written, trying again')
        this.#settled.resolve()
        return shortSleepMs
      })
      if (sleepMs > 0) await sleep(sleepMs)
    }
  }

  /** Does what is due and returns how long to sleep. */
  async #step(): Promise<number> {
    const { db } = this.#deps
    const row = await store.provideCertificate(db, this.#key)
    this.#use(row)
    if (row.due_in_ms > 0) {
      // Another process may be in its first attempt.
      if (!row.is_leased || this.isIssued) this.#settle(row)
      return Math.min(Math.ceil(row.due_in_ms), maxSleepMs)
    }
    const lease = { id: this.#key, owner: randomUUID() }
    const claimed = await store.claimCertificate(db, lease)
    if (!claimed) return shortSleepMs
    await this.#attempt(claimed, lease)
    this.#isSettled = true
    return 0
  }

  /** The reason of an earlier attempt is told again, because nothing else happens until the next one. */
  #settle({ last_error: message, next_at: nextAt }: store.StoredCertificate): void {
    if (!this.#isSettled && message) this.#deps.log.warn({}, this.#describeFailure(message, nextAt))
    this.#isSettled = true
    this.#settled.resolve()
  }

  #use({ chain, private_key: key }: store.StoredCertificate): void {
    if (!chain || !key || chain === this.#chain) return
    this.certificate.replace({ cert: Buffer.from(chain), key: Buffer.from(key) })
    if (this.#chain) this.#deps.log.info({}, 'the certificate was replaced')
    this.#chain = chain
  }

  async #attempt(row: store.StoredCertificate, lease: Lease): Promise<void> {
    const { db } = this.#deps
    const { email = '', directoryUrl } = this.settings
    using kept = keepLease(() => store.renewLease(db, lease), leaseMs)
    const signal = AbortSignal.any([kept.lost, this.#closing.signal])
    const keyPem = await store.provideAccountKey(db, { directory_url: directoryUrl, email }, () =>
      toPem(newKey()),
    )
    const client = new AcmeClient({ directoryUrl, accountKey: createPrivateKey(keyPem), signal })
    try {
      if (row.is_order_due) await this.#order(client, { row, lease, signal })
      else await this.#findRenewalTime(client, row, lease)
    } catch (error) {
      if (kept.lost.aborted) return
      if (this.#closing.signal.aborted) await store.releaseCertificate(db, lease)
      else await this.#fail(error, lease, client.clockOffsetMs)
    }
  }

  async #order(
    client: AcmeClient,
    { row, lease, signal }: { row: store.StoredCertificate; lease: Lease; signal: AbortSignal },
  ): Promise<void> {
    const { db, log, now } = this.#deps
    const { domains, directoryUrl, email } = this.settings
    log.info({}, `requesting a certificate for ${domains.join(', ')} from ${new URL(directoryUrl).host}`)
    await client.login(email)
    const { renewalInfo } = await client.directory()
    const mustBeOurs = async (saved: Promise<boolean>) => {
      if (!(await saved)) throw new Error('Another process orders the certificate')
    }
    const { chain, keyPem } = await orderCertificate(client, {
      domains,
      started: row.order_url && row.order_key ? { url: row.order_url, keyPem: row.order_key } : undefined,
      replaces: renewalInfo && row.chain ? certificateId(row.chain) : undefined,
      save: (order) => mustBeOurs(store.saveOrder(db, lease, order)),
      publish: (token, answer) => mustBeOurs(store.saveChallenge(db, lease, token, answer)),
      signal,
    })
    const details = readCertificate(chain)
    const renewAt = planRenewal(details, now())
    const nextAt = renewalInfo ? earlier(renewAt, new Date(now().getTime() + firstCheckMs)) : renewAt
    await store.recordIssued(db, lease, { chain, keyPem, renewAt, nextAt })
    log.info(
      {},
      `the certificate for ${domains.join(', ')} was issued by ${details.issuer} and is valid until ${details.notAfter.toISOString()}`,
    )
  }

  /** An authority that does not tell is no failure: the certificate is renewed at the planned time. */
  async #findRenewalTime(client: AcmeClient, row: store.StoredCertificate, lease: Lease): Promise<void> {
    const { db, log, now } = this.#deps
    const chain = row.chain!
    const details = readCertificate(chain)
    let renewAt = row.renew_at!
    let nextAt = renewAt
    try {
      const window = await findRenewalWindow(client, chain)
      if (window) {
        const earliest = earliestRenewal(details, row.issued_at!)
        renewAt = later(chooseRenewal(renewAt, window), earliest)
        nextAt = earlier(renewAt, new Date(now().getTime() + window.checkAfterMs))
      }
    } catch (err) {
      this.#closing.signal.throwIfAborted()
      log.info({ err }, 'the certificate authority did not tell when to renew the certificate')
      nextAt = earlier(renewAt, new Date(now().getTime() + firstCheckMs))
    }
    await store.recordRenewalTime(db, lease, { renewAt, nextAt })
  }

  async #fail(error: unknown, lease: Lease, clockOffsetMs: number): Promise<void> {
    const { db, log } = this.#deps
    const { domains, httpPort } = this.settings
    const message = await explainFailure(error, { domains, httpPort, clockOffsetMs })
    const { retryAfterMs = 0, isOrderOver = false } = error instanceof AcmeError ? error : {}
    const nextAt = await store.recordFailure(db, lease, {
      message,
      retryAfterMs: Math.min(retryAfterMs, maxRetryAfterMs),
      isOrderOver,
    })
    const details = error instanceof AcmeError ? {} : { err: error }
    if (nextAt) log.warn(details, this.#describeFailure(message, nextAt))
  }

  #describeFailure(message: string, nextAt: Date): string {
    const names = this.settings.domains.join(', ')
    const what = this.isIssued
      ? `The certificate for ${names} was not renewed`
      : `No certificate for ${names}`
    return `${what}: ${message} The next attempt is at ${nextAt.toISOString()}.`
  }
}

/** URLs have the first domain. */
async function findEarlier(
  { db, now }: Deps,
  { directoryUrl, domains }: Acme,
): Promise<CertificateAndKey | undefined> {
  const stored = await store.findEarlierCertificates(db, directoryUrl)
  const found = stored.find(({ chain }) => {
    const { domains: names, notAfter } = readCertificate(chain)
    return names.includes(domains[0]!) && notAfter > now()
  })
  return found && { cert: Buffer.from(found.chain), key: Buffer.from(found.private_key) }
}

const earlier = (a: Date, b: Date) => (a < b ? a : b)
const later = (a: Date, b: Date) => (a > b ? a : b)
