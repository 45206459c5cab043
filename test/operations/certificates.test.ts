import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { createServer as createHttpsServer, request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createSelfSigned } from '../../server/certificates/acme/x509.ts'
import { AcmeCertificate, certificateKey } from '../../server/certificates/acme-certificate.ts'
import { openHttpServer } from '../../server/certificates/http-server.ts'
import { certificateStatus } from '../../server/certificates/status.ts'
import { certificatesChannel } from '../../server/certificates/store.ts'
import type { Config } from '../../server/config.ts'
import { type Database, openDatabase } from '../../server/database.ts'
import { createLog } from '../../server/lib/log.ts'
import {
  type Authority,
  cannotIssue,
  type Fault,
  freePorts,
  lacksAuthority,
  startAuthority,
} from '../support/certificate-authority.ts'
import {
  createDatabase,
  kinora,
  productionKey,
  query,
  settingsOf,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'

const domain = 'video.example.com'
const other = 'www.example.com'

let authority: Authority
const ends: (() => unknown)[] = []
const defaultAuthorities = getCACertificates('default')
before(async () => {
  if (lacksAuthority) return
  authority = await startAuthority({ after: (end) => ends.push(end) }, [domain, other])
  setDefaultCACertificates([...defaultAuthorities, readFileSync(authority.caFile, 'utf8')])
})
after(async () => {
  setDefaultCACertificates(defaultAuthorities)
  for (const end of ends) await end()
})

function resetAuthority(): void {
  authority.requests = []
  authority.orders = []
  authority.intercept = () => undefined
  authority.challengePort = undefined
}

/** A process that gets a certificate, without the rest of the service. */
async function openProcess(t: TestContext, database: string, changes: Partial<Config['acme']> = {}) {
  const { directoryUrl } = authority
  const acme = { domains: [domain], email: undefined, directoryUrl, httpPort: 0, ...changes }
  const log = createLog('silent', false)
  const warnings: string[] = []
  log.warn = (_details: unknown, message?: string) => void warnings.push(message ?? '')
  const opened: Database = await openDatabase({ databaseUrl: database, dataDir: '' }, log)
  const config = { host: '127.0.0.1', acme } as unknown as Config
  const context = { config, db: opened.db, log, now: () => new Date(), publicUrl: () => `https://${domain}` }
  const server = await openHttpServer(context, acme)
  const certificate = await AcmeCertificate.open(context, acme)
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await certificate.close()
    await server.close()
    await opened.close()
  }
  t.after(close)
  return {
    certificate,
    warnings,
    port: server.port,
    close,
    status: () => certificateStatus(context),
    /** Returns after the first attempt. */
    async run() {
      certificate.start()
      await certificate.whenSettled(300_000, new AbortController().signal)
    },
  }
}

const rowOf = async (database: string) => (await query(database, 'select * from certificates'))[0]

/** Every retry, and the end of a lease, come at once. */
const makeDue = (database: string) =>
  query(database, "update certificates set next_at = now(), lease_until = now() - interval '1 second'")

const refuse = (status: number, type: string, detail: string, headers = {}): Fault => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: { type: `urn:ietf:params:acme:error:${type}`, detail },
})

describe('an authority that does not issue a certificate', { skip: lacksAuthority }, () => {
  async function fail(
    t: TestContext,
    intercept: Authority['intercept'],
    changes: Partial<Config['acme']> = {},
  ) {
    resetAuthority()
    authority.intercept = intercept
    const database = await createDatabase(t)
    const process = await openProcess(t, database, changes)
    await process.run()
    const status = await process.status()
    assert.equal(process.certificate.isIssued, false)
    assert.equal(status.notAfter, null)
    const nextInMs = status.nextAttemptAt!.getTime() - Date.now()
    return { ...process, database, error: status.lastError!, nextInMs }
  }

  test('is asked again no sooner than it wants, whatever restarts', async (t) => {
    const limit = refuse(429, 'rateLimited', 'too many certificates', { 'retry-after': '7200' })
    const { error, nextInMs, close, database } = await fail(t, (call) =>
      call === 'POST /acme/local/new-order' ? limit : undefined,
    )
    assert.match(error, /^localhost:\d+ answered: too many certificates \(rateLimited\)\.$/)
    assert.ok(nextInMs > 7_100_000 && nextInMs <= 7_200_000, `${nextInMs}`)
    await close()
    authority.requests = []
    const restarted = await openProcess(t, database)
    await restarted.run()
    assert.deepEqual(authority.requests, [])
    assert.equal((await restarted.status()).lastError, error)
    assert.match(
      restarted.warnings.join(),
      /^No certificate for video\.example\.com: .+ The next attempt is at 20/,
    )
  })

  test('is asked after longer and longer times', async (t) => {
    const { database, error, status } = await fail(t, () =>
      refuse(400, 'rejectedIdentifier', 'Not this name.'),
    )
    assert.match(error, /answered: Not this name \(rejectedIdentifier\)\.$/)
    const minutes: number[] = []
    for (let attempt = 2; attempt <= 7; attempt++) {
      await query(database, 'update certificates set next_at = now()')
      await query(database, `select pg_notify('${certificatesChannel}', '')`)
      const process = await openProcess(t, database)
      await process.run()
      await waitFor(
        async () => (await rowOf(database)).attempts === attempt && !(await rowOf(database)).lease_owner,
      )
      minutes.push(Math.round(((await status()).nextAttemptAt!.getTime() - Date.now()) / 60_000))
      await process.close()
    }
    assert.deepEqual(minutes, [5, 15, 30, 60, 60, 60])
  })

  const faults: [string, Fault, RegExp][] = [
    ['answers with an error', { status: 503, body: 'later' }, /^localhost:\d+ answered: status 503\.$/],
    [
      'is not an ACME directory',
      { status: 200, body: '<html>' },
      /^https:\/\/localhost:\d+\/.+ is not an ACME directory: it has no newNonce\.$/,
    ],
    [
      'names a URL without HTTPS',
      {
        status: 200,
        body: {
          newNonce: 'http://ca.example/nonce',
          newAccount: 'https://ca.example/',
          newOrder: 'https://ca.example/',
        },
      },
      /^The certificate authority has sent "http:\/\/ca\.example\/nonce", which is not an HTTPS URL\.$/,
    ],
    ['sends endless text', { status: 200, body: 'x'.repeat(2e6) }, /has sent more than/],
    [
      'has another time',
      { status: 500, headers: { date: new Date(Date.now() + 7_200_000).toUTCString() } },
      /status 500\. The clock of this machine is 120 minutes behind that of the certificate authority\.$/,
    ],
  ]
  for (const [title, fault, expected] of faults)
    test(title, async (t) => {
      const { error, nextInMs } = await fail(t, () => fault)
      assert.match(error, expected)
      assert.ok(nextInMs > 30_000 && nextInMs <= 60_000, `${nextInMs}`)
    })

  test('is away, or has an untrusted certificate', async (t) => {
    const { port } = await freePorts('port')
    const away = await fail(t, () => undefined, { directoryUrl: `https://localhost:${port}/directory` })
    assert.match(away.error, /^https:\/\/localhost:\d+ cannot be reached: .*ECONNREFUSED/)
    const stranger = createHttpsServer({ ...createSelfSigned(['localhost'], new Date()) }).listen(
      0,
      '127.0.0.1',
    )
    t.after(() => stranger.close())
    await once(stranger, 'listening')
    const directoryUrl = `https://localhost:${(stranger.address() as AddressInfo).port}/directory`
    const untrusted = await fail(t, () => undefined, { directoryUrl })
    assert.match(untrusted.error, /its certificate is not trusted \(\w+\)\. .*NODE_EXTRA_CA_CERTS/)
  })

  test('repeats a request whose nonce has expired', async (t) => {
    let bad = 2
    const { error } = await fail(t, (call) => {
      if (call === 'POST /acme/local/new-order') return refuse(400, 'rejectedIdentifier', 'No')
      if (call !== 'POST /acme/local/new-account' || bad-- <= 0) return undefined
      return refuse(400, 'badNonce', 'Bad nonce')
    })
    assert.match(error, /rejectedIdentifier/)
    assert.equal(authority.requests.filter((call) => call.endsWith('new-account')).length, 3)
  })

  test('cannot reach the domain: the message tells where the domain leads to', async (t) => {
    const { error } = await fail(t, () => undefined, { domains: ['no.such.domain.example'], httpPort: 0 })
    assert.match(error, /^no\.such\.domain\.example could not be verified: .+ \((connection|dns)\)\. /)
    assert.match(error, /does not resolve to an IP address: create a DNS record/)
    assert.match(error, /has to reach port 0 of this server \(KINORA_HTTP_PORT\) at port 80/)
  })
})

describe('an authority that issues certificates', { skip: cannotIssue }, () => {
  test('several processes order one certificate, and all of them answer the challenge', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const open = () => openProcess(t, database, { domains: [domain, other], email: 'me@example.com' })
    // The first one does not order, and receives the challenge.
    const [first, ...others] = [await open(), await open(), await open()]
    authority.challengePort = first.port
    await Promise.all(others.map((each) => each.run()))
    await waitFor(() => others.some(({ certificate }) => certificate.isIssued))
    assert.equal(authority.orders.length, 1)
    const { domains, issuer, notAfter, renewAt, lastError, nextAttemptAt, source } = await first.status()
    assert.deepEqual(
      { domains, source, lastError, nextAttemptAt },
      {
        domains: [domain, other],
        source: 'acme',
        lastError: null,
        nextAttemptAt: null,
      },
    )
    assert.match(issuer!, /Caddy/)
    const lifetimeMs = notAfter!.getTime() - Date.now()
    assert.ok(Math.abs((renewAt!.getTime() - Date.now()) / lifetimeMs - 2 / 3) < 0.02)
    const { chain, challenges } = await rowOf(database)
    assert.match(new X509Certificate(chain).subjectAltName!, /DNS:video\.example\.com, DNS:www\.example\.com/)
    assert.deepEqual(challenges, {})
  })

  test('a process that was killed while ordering has its order continued', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const [data, ports] = [await temporaryFolder(t), await freePorts('https', 'http')]
    authority.challengePort = ports.http
    authority.intercept = (call) => (call.endsWith('/finalize') ? 'hang' : undefined)
    const env = {
      ...settingsOf({ database, data }),
      KINORA_ROLES: 'api',
      KINORA_DOMAIN: domain,
      KINORA_ACME_URL: authority.directoryUrl,
      KINORA_HOST: '127.0.0.1',
      KINORA_PORT: `${ports.https}`,
      KINORA_HTTP_PORT: `${ports.http}`,
      NODE_EXTRA_CA_CERTS: authority.caFile,
    }
    const first = spawnKinora(env)
    t.after(() => first.kill())
    await waitFor(() => authority.requests.some((call) => call.endsWith('/finalize')), first.output)
    await first.kill()
    authority.intercept = () => undefined
    const { attempts, order_url: order } = await rowOf(database)
    assert.equal(attempts, 1)
    await makeDue(database)
    const second = await openProcess(t, database)
    await second.run()
    assert.equal(second.certificate.isIssued, true)
    assert.equal(authority.orders.length, 1, `a second order beside ${order}`)
  })

  test('a process that stops hands its order over', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const [first, second] = [await openProcess(t, database), await openProcess(t, database)]
    authority.challengePort = second.port
    authority.intercept = (call) => (call.endsWith('/finalize') ? 'hang' : undefined)
    first.certificate.start()
    await waitFor(() => authority.requests.some((call) => call.endsWith('/finalize')))
    await first.close()
    authority.intercept = () => undefined
    await second.run()
    assert.equal(second.certificate.isIssued, true)
    assert.equal(authority.orders.length, 1)
  })

  test('something else answers at the domain', async (t) => {
    resetAuthority()
    const stranger = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
    t.after(() => stranger.close())
    await once(stranger, 'listening')
    authority.challengePort = (stranger.address() as AddressInfo).port
    const database = await createDatabase(t)
    const first = await openProcess(t, database)
    await first.run()
    assert.equal(first.certificate.isIssued, false)
    assert.match((await first.status()).lastError!, /^video\.example\.com could not be verified: /)
    await first.close()
    // The order has failed, so the next attempt begins another one.
    await makeDue(database)
    const second = await openProcess(t, database)
    authority.challengePort = second.port
    await second.run()
    assert.equal(second.certificate.isIssued, true)
    assert.equal(authority.orders.length, 2)
  })

  test('a certificate that cannot be used is ordered again', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const foreign = createSelfSigned([domain], new Date()).cert.toString()
    let broken: string | undefined
    authority.intercept = (call) => {
      if (call.startsWith('POST /acme/local/certificate/')) broken ??= call
      return call === broken ? { status: 200, body: foreign } : undefined
    }
    const first = await openProcess(t, database)
    authority.challengePort = first.port
    await first.run()
    assert.match((await first.status()).lastError!, /^The issued certificate cannot be used: /)
    assert.equal(first.certificate.isIssued, false)
    await makeDue(database)
    await query(database, `select pg_notify('${certificatesChannel}', '')`)
    const second = await openProcess(t, database)
    authority.challengePort = second.port
    await second.run()
    assert.equal(second.certificate.isIssued, true)
    assert.equal(authority.orders.length, 2)
  })

  test('a process with other domains uses the earlier certificate until it has another one', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const first = await openProcess(t, database)
    authority.challengePort = first.port
    await first.run()
    await first.close()
    const { chain } = await rowOf(database)

    const extended = await openProcess(t, database, { domains: [domain, 'no.such.domain.example'] })
    authority.challengePort = extended.port
    await extended.run()
    assert.match((await extended.status()).lastError!, /^no\.such\.domain\.example could not be verified/)
    const { certificate, isIssued, isSelfSigned } = extended.certificate
    assert.deepEqual([certificate.cert.toString(), isIssued, isSelfSigned], [chain, false, false])

    // URLs have the first domain.
    const moved = await openProcess(t, database, { domains: [other, domain] })
    assert.equal(moved.certificate.isSelfSigned, true)
    const { cert, key } = createSelfSigned([domain], new Date(Date.now() - 3 * 365 * 86_400_000))
    const expire = 'update certificates set chain = $1, private_key = $2 where chain is not null'
    await query(database, expire, [`${cert}`, `${key}`])
    const late = await openProcess(t, database, { domains: [domain, other] })
    assert.equal(late.certificate.isSelfSigned, true, 'an expired certificate is no better')
  })

  test('renewal information of the authority decides when, and the order names what it replaces', async (t) => {
    resetAuthority()
    const database = await createDatabase(t)
    const renewalInfo = authority.directoryUrl.replace(/directory$/, 'renewal-info')
    const window = (startMs: number) => ({
      suggestedWindow: { start: new Date(Date.now() + startMs), end: new Date(Date.now() + startMs + 1) },
    })
    let info: object = window(3_600_000)
    authority.intercept = (call) => {
      if (call.startsWith('GET /acme/local/renewal-info/')) return { status: 200, body: info }
      if (call !== 'GET /acme/local/directory') return undefined
      const urlOf = (name: string) => authority.directoryUrl.replace(/directory$/, name)
      const [newNonce, newAccount, newOrder] = ['new-nonce', 'new-account', 'new-order'].map(urlOf)
      return { status: 200, body: { newNonce, newAccount, newOrder, renewalInfo } }
    }
    const first = await openProcess(t, database)
    authority.challengePort = first.port
    await first.run()
    const { next_at: checkAt, renew_at: planned, chain } = await rowOf(database)
    assert.ok(checkAt < planned, 'the authority is asked before the renewal')
    await first.close()

    const ask = async () => {
      await query(database, "update certificates set issued_at = now() - interval '1 day', next_at = now()")
      const process = await openProcess(t, database)
      authority.challengePort = process.port
      await process.run()
      return process
    }
    const second = await ask()
    const { renew_at: moved } = await rowOf(database)
    assert.ok(Math.abs(moved.getTime() - Date.now() - 3_600_000) < 600_000, 'the window of the authority')
    await second.close()

    // It has to revoke the certificate.
    info = window(-3_600_000)
    await ask()
    await waitFor(async () => (await rowOf(database)).chain !== chain)
    const replaced = authority.orders[1]!.replaces as string
    assert.match(replaced, /^[\w-]{27}\.[\w-]+$/)
    assert.ok(authority.requests.includes(`GET /acme/local/renewal-info/${replaced}`))
  })
})

describe('a service with KINORA_DOMAIN', { skip: cannotIssue }, () => {
  test('has HTTPS, a redirect and RTMPS, and renews its certificate while it runs', async (t) => {
    resetAuthority()
    const ports = await freePorts('https', 'http', 'rtmps')
    authority.challengePort = ports.http
    const env = {
      KINORA_ROLES: 'api,live',
      KINORA_DOMAIN: domain,
      KINORA_ACME_URL: authority.directoryUrl,
      KINORA_HOST: '127.0.0.1',
      KINORA_PORT: `${ports.https}`,
      KINORA_HTTP_PORT: `${ports.http}`,
      KINORA_RTMPS_PORT: `${ports.rtmps}`,
      KINORA_LOG_LEVEL: 'info',
      NODE_EXTRA_CA_CERTS: authority.caFile,
    }
    const { url, output, database, data, stop } = await kinora(t, env)
    assert.equal(url, `https://${domain}`)
    assert.match(output(), /requesting a certificate for video\.example\.com from localhost:\d+/)
    assert.doesNotMatch(output(), /self-signed/)

    const servedBy = async (port: number) => {
      const client = connect({ port, host: '127.0.0.1', servername: domain, ca: authority.root })
      await once(client, 'secureConnect')
      const { fingerprint256 } = client.getPeerCertificate()
      client.destroy()
      return fingerprint256
    }
    const send = async (path: string, headers: Record<string, string> = {}) => {
      const sent = request({ port: ports.http, host: '127.0.0.1', path, headers }).end()
      const [response] = await once(sent, 'response')
      const body = Buffer.concat(await response.toArray()).toString()
      return { status: response.statusCode, location: response.headers.location, body }
    }

    const first = await servedBy(ports.https)
    assert.equal(await servedBy(ports.rtmps), first)
    const created = requestHttps({
      ...{ port: ports.https, host: '127.0.0.1', servername: domain, ca: authority.root },
      ...{ method: 'POST', path: '/videos' },
      headers: {
        host: domain,
        authorization: `Basic ${btoa(`${productionKey}:`)}`,
        'content-type': 'application/json',
      },
    }).end('{"title":"Safe"}')
    const [response] = await once(created, 'response')
    const video = JSON.parse(Buffer.concat(await response.toArray()).toString())
    assert.ok(video.assets.hls.startsWith(`https://${domain}/vod/`))

    assert.deepEqual(await send('/videos?a=b', { host: 'evil.example' }), {
      status: 308,
      location: `https://${domain}/videos?a=b`,
      body: '',
    })
    assert.equal((await send(`/.well-known/acme-challenge/${'x'.repeat(32)}`)).status, 404)

    await query(database, 'update certificates set renew_at = now(), next_at = now()')
    await query(database, `select pg_notify('${certificatesChannel}', '')`)
    await waitFor(async () => (await servedBy(ports.https)) !== first, output)
    await waitFor(async () => (await servedBy(ports.rtmps)) === (await servedBy(ports.https)), output)
    assert.equal(authority.orders.length, 2)

    // The service was stopped for so long that the certificate has expired.
    await stop()
    const { cert, key } = createSelfSigned([domain], new Date(Date.now() - 3 * 365 * 86_400_000))
    await query(
      database,
      "update certificates set chain = $1, private_key = $2, renew_at = now() - interval '1 day', next_at = now()",
      [cert.toString(), key.toString()],
    )
    const again = await startKinora({ ...settingsOf({ database, data }), ...env })
    t.after(() => again.stop())
    await waitFor(async () => (await servedBy(ports.https)) !== undefined, again.output)
    assert.equal(authority.orders.length, 3)
    const [{ id }] = await query(database, 'select id from certificates')
    assert.equal(id, certificateKey({ directoryUrl: authority.directoryUrl, domains: [domain] }))
  })
})
