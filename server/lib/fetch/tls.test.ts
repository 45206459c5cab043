import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { run } from '../run.ts'
import {
  answering,
  isFailure,
  listen,
  ok,
  open,
  openWithNames,
  publicAddress,
  readAll,
  until,
  usual,
} from './test-server.ts'

let folder: string
const usualAuthorities = getCACertificates('default')
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-fetch-'))
  makeCertificate('self-signed', 'DNS:localhost,IP:127.0.0.1')
  makeCertificate('trusted', 'DNS:good.example,IP:127.0.0.1')
  setDefaultCACertificates([...usualAuthorities, readFileSync(join(folder, 'trusted.pem'), 'utf8')])
})
after(() => {
  setDefaultCACertificates(usualAuthorities)
  rmSync(folder, { recursive: true })
})

function makeCertificate(name: string, names: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`, '-days', '1']
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'pipe' })
}

async function listenTls(t: TestContext, certificate: string, answer: RequestListener) {
  const pem = (kind: string) => readFileSync(join(folder, `${certificate}.${kind}`))
  const server = createServer({ key: pem('key'), cert: pem('pem') }, answer)
  let open = 0
  server.on('connection', (socket) => {
    open++
    socket.once('close', () => open--)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { port, url: `https://127.0.0.1:${port}/`, openCount: () => open }
}

test('https works with a valid certificate for the host of the URL', async (t) => {
  const names: unknown[] = []
  const { port, url } = await listenTls(t, 'trusted', (request, response) => {
    names.push((request.socket as TLSSocket).servername)
    response.end('secure')
  })
  const { client } = openWithNames(t, port, [[publicAddress]])
  for (const host of ['good.example', 'good.example.']) {
    const response = await client.request(`https://${host}/`, usual)
    assert.equal(await readAll(response.body), 'secure')
  }
  const byNumber = await open(t).request(url, usual)
  assert.equal(await readAll(byNumber.body), 'secure')
  assert.deepEqual(names, ['good.example', 'good.example', false])
  await assert.rejects(client.request('https://evil.example/', usual), (error: Error) => {
    assert.equal(
      error.message,
      'No secure connection to evil.example could be made (ERR_TLS_CERT_ALTNAME_INVALID).',
    )
    return isFailure('tls', false)(error)
  })
})

test('an untrusted certificate, or no TLS at all, is a TLS error', async (t) => {
  const server = await listenTls(t, 'self-signed', () => {})
  const client = open(t)
  await assert.rejects(client.request(server.url, usual), isFailure('tls', false))
  await until(() => server.openCount() === 0)
  const plain = await listen(t, (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  await assert.rejects(client.request(`https://127.0.0.1:${plain.port}/`, usual), isFailure('tls', false))
  const closing = await listen(t, (socket) => void socket.end())
  await assert.rejects(
    client.request(`https://127.0.0.1:${closing.port}/`, usual),
    isFailure('dropped', true),
  )
  await client.close()
})

test('a body is not sent from https to http, and a GET follows without its secret headers', async (t) => {
  const seen: string[] = []
  const plain = await listen(
    t,
    answering((request) => {
      seen.push(request)
      return ok('plain')
    }),
  )
  const { url } = await listenTls(t, 'trusted', (_request, response) => {
    response.writeHead(307, { location: plain.url }).end()
  })
  const body = Buffer.from('secret')
  await assert.rejects(open(t).request(url, { ...usual, method: 'POST', body }), isFailure('protocol', false))
  assert.equal(seen.length, 0)
  const response = await open(t).request(url, { ...usual, headers: { authorization: 'Bearer s' } })
  assert.equal(await readAll(response.body), 'plain')
  assert.equal(/authorization/i.test(seen[0]!), false)
})

test('closing the client waits for TLS connections as well', async (t) => {
  const server = await listenTls(t, 'trusted', (_request, response) => void response.write('begin'))
  const client = open(t)
  const response = await client.request(server.url, usual)
  await client.close()
  await assert.rejects(readAll(response.body), { name: 'AbortError' })
  await until(() => server.openCount() === 0)
})

test('settings of the environment for proxies, insecure TLS and lenient HTTP are ignored', async (t) => {
  let proxied = 0
  const proxy = await listen(t, () => void proxied++)
  const server = await listen(
    t,
    answering(() => ok('direct')),
  )
  const tls = await listenTls(t, 'self-signed', () => {})
  const lax = await listen(
    t,
    answering(() => ok('lax', 'transfer-encoding: chunked\r\n')),
  )
  const script = `
    import { createGuardedFetch } from ${JSON.stringify(new URL('./guarded-fetch.ts', import.meta.url).href)}
    const client = createGuardedFetch({ allowPrivateNetworks: true, userAgent: 'a' })
    const limits = { maxRedirects: 0, connectTimeoutMs: 300_000, headersTimeoutMs: 300_000, idleTimeoutMs: 300_000 }
    const response = await client.request('${server.url}', limits)
    for await (const chunk of response.body) process.stdout.write(chunk)
    await client.request('${tls.url}', limits).catch((error) => process.stdout.write(' ' + error.kind))
    await client.request('${lax.url}', limits).catch((error) => process.stdout.write(' ' + error.kind))`
  const env = {
    ...process.env,
    ...{
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      http_proxy: proxy.url,
      ALL_PROXY: proxy.url,
    },
    ...{
      NO_PROXY: '',
      no_proxy: '',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NODE_OPTIONS: '--insecure-http-parser',
    },
  }
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { env })
  assert.equal(stdout, 'direct tls protocol')
  assert.equal(proxied, 0)
})
