import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import type { App } from '../lib/http.ts'
import { createLog } from '../lib/log.ts'
import { assetRoutes, loadPlayer } from './assets.ts'

const log = createLog('silent', false)

async function build(t: { after(end: () => unknown): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'more'))
  const manifest = {
    'main.ts': { file: 'main-a1.js', isEntry: true, css: ['main-b2.css'], imports: ['_shared.js'] },
    '_shared.js': { file: 'more/shared-c3.js', css: ['shared-d4.css'], imports: ['_shared.js'] },
    'late.ts': { file: 'late-e5.js', isDynamicEntry: true },
  }
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
  await writeFile(join(folder, 'main-a1.js'), 'main()')
  await writeFile(join(folder, 'main-a1.js.gz'), gzipSync('main()'))
  await writeFile(join(folder, 'main-a1.js.br'), 'brotli')
  await writeFile(join(folder, 'more/shared-c3.js'), 'shared()')
  await writeFile(join(folder, 'notes.txt'), 'not served')
  return folder
}

async function serve(folder: string) {
  const app = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
  assetRoutes(app as unknown as App, await loadPlayer(log, folder))
  return app
}

test('the entry is found with all of its imports', async (t) => {
  const { entry } = await loadPlayer(log, await build(t))
  assert.deepEqual(entry, {
    script: '/player/main-a1.js',
    styles: ['/player/main-b2.css', '/player/shared-d4.css'],
    imports: ['/player/more/shared-c3.js'],
  })
})

test('the service starts without a built player', async () => {
  const { files, entry } = await loadPlayer(log, join(tmpdir(), 'kinora-none'))
  assert.equal(files.size, 0)
  assert.equal(entry, undefined)
})

test('files are cached forever and compressed as the client accepts', async (t) => {
  const app = await serve(await build(t))
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  const plain = await get('/player/main-a1.js')
  assert.equal(plain.statusCode, 200)
  assert.equal(plain.body, 'main()')
  assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.match(String(plain.headers['cache-control']), /immutable/)
  assert.equal(plain.headers['x-content-type-options'], 'nosniff')
  assert.equal(plain.headers.vary, 'accept-encoding')

  const compressed = await get('/player/main-a1.js', { 'accept-encoding': 'gzip, deflate, br' })
  assert.equal(compressed.headers['content-encoding'], 'br')
  assert.equal(compressed.body, 'brotli')
  assert.notEqual(compressed.headers.etag, plain.headers.etag)
  const known = await get('/player/main-a1.js', { 'if-none-match': `"x", ${plain.headers.etag}` })
  assert.equal(known.statusCode, 304)
  assert.equal(known.body, '')
  assert.equal((await get('/player/more/shared-c3.js', { 'accept-encoding': 'br' })).body, 'shared()')
})

test('nothing else is served, whatever the path contains', async (t) => {
  const app = await serve(await build(t))
  for (const path of [
    '',
    'manifest.json',
    'notes.txt',
    'main-a1.js.gz',
    '../players/assets.ts',
    'more',
    'gone.js',
  ])
    assert.equal((await app.inject(`/player/${path}`)).statusCode, 404, path)
  for (const path of ['..%2f..%2fpackage.json', '%2e%2e/%2e%2e/package.json', 'main-a1.js%00', 'constructor'])
    assert.equal((await app.inject(`/player/${path}`)).statusCode, 404, path)
})
