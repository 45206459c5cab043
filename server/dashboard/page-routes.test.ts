import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Fastify from 'fastify'
import type { Config } from '../config.ts'
import { commandName } from '../lib/command-name.ts'
import { handleErrors } from '../lib/error-handler.ts'
import type { App } from '../lib/http.ts'
import { createLog } from '../lib/log.ts'
import { urlsForLog } from '../lib/logged-url.ts'
import { dashboardPageRoutes } from './page-routes.ts'

const redirecting = { endpoint: 'https://s3.example.com/path', isRedirecting: true }

async function serve(folder: string, s3?: object): Promise<App> {
  const app = Fastify() as unknown as App
  handleErrors(app, { typeBase: () => '' }, urlsForLog(app))
  const config = { s3 } as Config
  await dashboardPageRoutes(app, { log: createLog('silent', false), config }, folder)
  return app
}

test('the built page has a new nonce in each response, and its files are cached forever', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-dashboard-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<meta name="csp-nonce" content="__NONCE__">')
  await writeFile(join(folder, 'assets/main-abc.js'), 'start()')
  await writeFile(join(folder, 'assets/main-abc.js.br'), 'compressed')
  const app = await serve(folder)

  const nonces = new Set<string>()
  for (const url of ['/dashboard', '/dashboard/', '/dashboard/production/videos']) {
    const { statusCode, body, headers } = await app.inject(url)
    assert.equal(statusCode, 200)
    const [, nonce = ''] = /^<meta name="csp-nonce" content="([\w+/]{22}==)">$/.exec(body) ?? []
    nonces.add(nonce)
    const policy = String(headers['content-security-policy']).split('; ')
    assert.ok(policy.includes(`style-src 'self' 'nonce-${nonce}'`), `${policy}`)
    assert.doesNotMatch(policy.join(), /https?:/, 'nothing comes from elsewhere')
  }
  assert.equal(nonces.size, 3)

  const script = await app.inject({
    url: '/dashboard/assets/main-abc.js',
    headers: { 'accept-encoding': 'br' },
  })
  assert.deepEqual([script.body, script.headers['content-encoding']], ['compressed', 'br'])
  assert.match(String(script.headers['cache-control']), /immutable/)
  for (const name of ['nothing.js', '..%2findex.html', 'main-abc.js.br', ''])
    assert.equal((await app.inject(`/dashboard/assets/${name}`)).statusCode, 404, name)
})

test('the page knows how the kinora command is called where the service runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-dashboard-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'index.html'), '<meta name="kinora-command" content="__COMMAND__">')
  const { body } = await (await serve(folder)).inject('/dashboard')
  assert.equal(body, `<meta name="kinora-command" content="${commandName(process.env)}">`)
})

test('a file store to which the service redirects may serve images and captions, and nothing else', async () => {
  const app = await serve(join(tmpdir(), 'kinora-nothing'), redirecting)
  const policy = String((await app.inject('/dashboard')).headers['content-security-policy']).split('; ')
  assert.deepEqual(
    policy.filter((part) => part.includes('s3.example.com')),
    ["img-src 'self' data: blob: https://s3.example.com", "connect-src 'self' https://s3.example.com"],
  )
})

test('without a build, the page says so', async () => {
  const app = await serve(join(tmpdir(), 'kinora-nothing'))
  const { statusCode, body, headers } = await app.inject('/dashboard')
  assert.equal(statusCode, 200)
  assert.match(body, /has not been built/)
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
})
