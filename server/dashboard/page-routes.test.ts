import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Fastify from 'fastify'
import { handleErrors } from '../lib/error-handler.ts'
import type { App } from '../lib/http.ts'
import { createLog } from '../lib/log.ts'
import { dashboardPageRoutes } from './page-routes.ts'

async function serve(folder: string): Promise<App> {
  const app = Fastify() as unknown as App
  handleErrors(app, { typeBase: () => '' })
  const publicUrl = () => 'https://video.example.com'
  await dashboardPageRoutes(app, { log: createLog('silent', false), publicUrl }, folder)
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
    for (const part of [
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' https://video.example.com data: blob:",
      "media-src 'self' https://video.example.com",
      "frame-src 'self' https://video.example.com",
    ])
      assert.ok(policy.includes(part), `${policy}`)
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

test('without a build, the page says so', async () => {
  const app = await serve(join(tmpdir(), 'kinora-nothing'))
  const { statusCode, body, headers } = await app.inject('/dashboard')
  assert.equal(statusCode, 200)
  assert.match(body, /has not been built/)
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
})
