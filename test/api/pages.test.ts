import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import {
  type ApiResponse,
  call,
  callRaw,
  productionKey,
  root,
  sandboxKey,
  sharedKinora,
} from '../support/harness.ts'

// The pages that a browser opens beside the player and the docs.

const service = sharedKinora({ KINORA_ROLES: 'api', KINORA_RATE_LIMIT_READS: '1' })

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const get = (path: string) => call(service.url + path, { key: '' })

test('the start page tells how to upload, with the URL of the service and without keys', async () => {
  const { status, headers, text } = await get('/')
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(headers.get('content-security-policy')!, /^default-src 'none'; /)
  assert.equal(headers.get('cache-control'), 'no-cache')
  assert.ok(text.includes(`${service.url}/videos \\`))
  assert.ok(text.includes(`${service.url}/videos/$VIDEO_ID/source \\`))
  assert.ok(text.includes(`kinora login ${service.url}\n`))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  assert.ok(text.includes(`Kinora ${version}`))
  for (const key of [productionKey, sandboxKey]) assert.ok(!text.includes(key))
  const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!)
  assert.ok(links.length >= 4, `${links}`)
  for (const link of links) {
    assert.match(link, /^\//)
    assert.equal((await get(link)).status, 200, link)
  }
  const attacked = await callRaw(service.url, '/?<script>', {
    headers: { host: '"><script>', 'x-forwarded-host': '"><script>' },
  })
  assert.equal(attacked.text, text)
  assert.equal((await callRaw(service.url, '/sandbox/')).text, text)
})

test('an error is a page for browsers and JSON for everybody else', async () => {
  const { body: video } = await call(`${service.url}/videos`, { method: 'POST', json: { public: false } })
  const authorization = `Bearer ${productionKey}`
  // The limit of reads is one request per minute.
  await callRaw(service.url, '/videos', { headers: { authorization } })
  const cases: [number, string, { method?: string; headers?: Record<string, string> }?][] = [
    [404, '/nope'],
    [404, '/vod/vi0123456789012345678901/hls/manifest.m3u8'],
    [404, '/docs/errors/nope'],
    [404, '/player/nope.js'],
    [400, '/videos/%zz'],
    [401, '/videos'],
    [403, `/vod/${video.videoId}/hls/manifest.m3u8`],
    [405, '/auth/api-key'],
    [405, '/openapi.json', { method: 'POST' }],
    [429, '/videos', { headers: { authorization } }],
  ]
  for (const [status, path, options] of cases) {
    const ask = (accept: string) =>
      callRaw(service.url, path, { ...options, headers: { ...options?.headers, accept } })
    const label = `${status} ${path}`
    const [page, ...others] = [await ask(browserAccept), await ask('*/*'), await ask('application/json')]
    checkErrorPage(page!, status, label)
    for (const json of others) {
      assert.equal(json.status, status, label)
      assert.equal(json.headers.get('content-type'), 'application/problem+json', label)
      assert.equal(json.headers.get('cache-control'), 'no-store', label)
      assert.match(json.headers.get('vary')!, /\baccept\b/, label)
      assert.ok(page!.text.includes(`<h1>${json.body.title}</h1>`), label)
    }
  }
  const head = await callRaw(service.url, '/nope', { method: 'HEAD', headers: { accept: browserAccept } })
  assert.deepEqual([head.status, head.text], [404, ''])
})

function checkErrorPage({ status, headers, text }: ApiResponse, expected: number, label: string): void {
  assert.equal(status, expected, label)
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8', label)
  assert.equal(headers.get('cache-control'), 'no-store', label)
  assert.match(headers.get('vary')!, /\baccept\b/, label)
  assert.match(headers.get('content-security-policy')!, /^default-src 'none'; style-src 'sha256-/, label)
  assert.ok(text.includes(`<code>${headers.get('x-request-id')}</code>`), label)
  assert.ok(text.includes('href="/"'), label)
}

test('the icon is an SVG and an ICO with three sizes', async () => {
  const svg = await get('/favicon.svg')
  assert.deepEqual([svg.status, svg.headers.get('content-type')], [200, 'image/svg+xml'])
  const response = await fetch(`${service.url}/favicon.ico`)
  assert.equal(response.headers.get('content-type'), 'image/vnd.microsoft.icon')
  assert.match(response.headers.get('cache-control')!, /^public, max-age=/)
  const ico = Buffer.from(await response.arrayBuffer())
  assert.deepEqual([ico.readUInt16LE(0), ico.readUInt16LE(2), ico.readUInt16LE(4)], [0, 1, 3])
  for (const [i, side] of [16, 32, 48].entries()) {
    const entry = ico.subarray(6 + 16 * i)
    const png = ico.subarray(entry.readUInt32LE(12)).subarray(0, entry.readUInt32LE(8))
    assert.deepEqual([entry[0], png.toString('latin1', 1, 4), png.readUInt32BE(16)], [side, 'PNG', side])
  }
})

test('robots.txt allows player pages and what they load, and nothing else', async () => {
  const { status, headers, text } = await get('/robots.txt')
  assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
  const rules = [...text.matchAll(/^(Allow|Disallow): (\S+)$/gm)].map(([, verb, path]) => ({
    verb,
    path: path!,
  }))
  // The longest rule that matches decides (RFC 9309).
  const isAllowed = (url: string) =>
    rules.filter(({ path }) => url.startsWith(path)).sort((a, b) => b.path.length - a.path.length)[0]
      ?.verb === 'Allow'
  for (const url of ['/vod/vi1', '/vod/vi1/thumbnail.jpg', '/player/main.js', '/players/pl1/logo/x.png'])
    assert.equal(isAllowed(url), true, url)
  for (const url of [
    '/',
    '/videos',
    '/docs',
    '/openapi.json',
    '/collector/vod',
    '/metrics',
    '/sandbox/videos',
  ])
    assert.equal(isAllowed(url), false, url)
})

describe('in a browser', { skip }, () => {
  test('the start page and an error page fit a phone, and need no other origin', async (t) => {
    const browser = await launchBrowser()
    t.after(() => browser!.close())
    const page = await browser!.newPage({ viewport: { width: 390, height: 844 } })
    const messages: string[] = []
    page.on('console', (message) => messages.push(message.text()))
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url)) messages.push(request.url())
    })
    for (const path of ['/', `/${'nope'.repeat(100)}`]) {
      await page.goto(service.url + path)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.equal(overflow, 0, path)
      // The browser applies the style only if its hash is right.
      assert.equal(await page.evaluate('getComputedStyle(document.body).marginTop'), '0px')
    }
    // Chromium reports the status of the page as an error.
    assert.deepEqual(
      messages.filter((text) => !text.includes('status of 404')),
      [],
    )
    await page.click('text=Start page')
    await page.waitForURL(`${service.url}/`)
  })
})
