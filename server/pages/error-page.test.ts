import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Fastify from 'fastify'
import { handleErrors } from '../lib/error-handler.ts'
import { ApiError, httpErrors, invalid, notFound, unauthenticated } from '../lib/errors.ts'
import { FileStoreError } from '../lib/files/files.ts'
import type { App } from '../lib/http.ts'
import { urlsForLog } from '../lib/logged-url.ts'
import { errorPage } from './error-page.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const attack = `"><script>alert('1')</script>`
const secret = 'password=hunter2'

const field = (name: string, title: string) => ({ kind: httpErrors.invalidAttribute, title, name })
const errors: Record<string, Error> = {
  400: invalid([field('title', 'title is too long.'), field('tags', 'tags is not a list.')]),
  401: unauthenticated(httpErrors.badRequest),
  404: notFound('videoId'),
  429: new ApiError(httpErrors.tooManyRequests, { headers: { 'retry-after': '7' } }),
  500: new Error(secret),
  503: new FileStoreError('unreachable', new Error(secret)),
  attack: new ApiError(httpErrors.badRequest, { title: attack, name: attack }),
}

const app = Fastify({ genReqId: () => `id-of-${attack}` })
handleErrors(
  app as unknown as App,
  { typeBase: () => 'https://video.example.com/docs/errors/', page: errorPage },
  urlsForLog(app as unknown as App),
)
app.get<{ Params: { name: string } }>('/:name', (request, reply) => {
  reply.header('vary', 'origin')
  throw errors[request.params.name] ?? new ApiError(httpErrors.unknownUrl)
})

const get = (name: string, accept: string) => app.inject({ url: `/${name}`, headers: { accept } })

describe('the page of an error', () => {
  test('has the status, the sentence and the headers of the JSON response, and links', async () => {
    for (const name of Object.keys(errors)) {
      const page = await get(name, browser)
      const json = await get(name, '*/*')
      const { status, title, type } = json.json()
      assert.equal(json.headers['content-type'], 'application/problem+json')
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
      assert.deepEqual([page.statusCode, json.statusCode], [status, status])
      for (const header of ['www-authenticate', 'retry-after', 'vary'])
        assert.equal(page.headers[header], json.headers[header])
      assert.equal(page.headers.vary, 'origin, accept')
      assert.match(page.body, new RegExp(`<p class="status">Error ${status}</p>`))
      if (name !== 'attack') assert.ok(page.body.includes(`<h1>${title}</h1>`), page.body)
      assert.ok(page.body.includes(`href="${new URL(type).pathname}"`))
      assert.ok(page.body.includes('href="/"'))
    }
  })

  test('lists every problem and the parameter', async () => {
    const { body } = await get('400', browser)
    assert.ok(body.includes('<h1>title is too long.</h1>'))
    assert.ok(body.includes('<li>tags is not a list.</li>'))
    assert.ok((await get('404', browser)).body.includes('<code>videoId</code>'))
  })

  test('does not tell the cause of an internal error', async () => {
    for (const name of ['500', '503'])
      for (const accept of [browser, '*/*'])
        assert.ok(!(await get(name, accept)).body.includes('hunter2'), `${name} ${accept}`)
  })

  test('escapes everything, and its policy forbids scripts', async () => {
    const { body, headers } = await get('attack', browser)
    assert.ok(!body.includes('<script') && body.includes('&lt;script&gt;'))
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/]+='; img-src 'self'; /)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })
})
