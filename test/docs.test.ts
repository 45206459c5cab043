import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { describeApi } from '../scripts/openapi.ts'
import { settings } from '../server/config.ts'
import { errorKinds } from '../server/errors.ts'
import { call, root, sharedKinora } from './harness.ts'

// The docs and the API description match the service.

const service = sharedKinora()
const read = (file: string) => readFile(join(root, file), 'utf8')
const get = (path: string) => call(service.url + path, { key: '' })

type Json = Record<string, unknown>
type Operation = {
  operationId: string
  summary: string
  tags: string[]
  parameters?: { name: string; in: string; required?: boolean; schema?: Json }[]
  requestBody?: { content: Record<string, { schema: Json }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>
  security?: unknown[]
}
type Document = {
  openapi: string
  info: { title: string; version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json> }
}

async function readDocument() {
  const document: Document = (await get('/openapi.json')).body
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return { document, operations }
}

describe('openapi.json', () => {
  test('the file openapi.json matches the routes and the response of the service (npm run openapi updates it)', async () => {
    const file = await read('openapi.json')
    assert.equal(file, await describeApi())
    assert.equal(file, (await get('/openapi.json')).text)
  })

  test('every operation has a unique id, a summary, a known tag and its responses', async () => {
    const { document, operations } = await readDocument()
    assert.match(document.openapi, /^3\.1\.\d$/)
    assert.ok(document.info.title && document.info.version)
    assert.ok(operations.length >= 9)
    assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
    const tags = new Set(document.tags.map(({ name }) => name))
    for (const { method, path, operation } of operations) {
      const name = `${method} ${path}`
      assert.match(method, /^(get|head|post|put|patch|delete)$/, name)
      assert.match(operation.operationId, /^[\w-]+$/, name)
      assert.ok(operation.summary?.length > 5, name)
      assert.ok(operation.tags?.length > 0 && operation.tags.every((tag) => tags.has(tag)), name)
      const statuses = Object.keys(operation.responses)
      assert.ok(
        statuses.some((status) => /^2\d\d$/.test(status)),
        name,
      )
      for (const [status, response] of Object.entries(operation.responses)) {
        assert.ok(response.description, `${name} ${status}`)
        const [type, ...more] = Object.keys(response.content ?? {})
        assert.deepEqual(more, [])
        // tus responses have headers only. The published clients expect an empty 202 of `complete`.
        const isComplete = path.endsWith('/complete') && status === '202'
        const isEmpty = status === '204' || isComplete || (operation.tags.includes('tus') && status < '400')
        const expected = isEmpty
          ? undefined
          : status < '400'
            ? 'application/json'
            : 'application/problem+json'
        assert.equal(type, expected, `${name} ${status}`)
      }
      const isOpen = operation.security?.length === 0
      for (const status of isOpen ? [] : ['401', '429'])
        assert.ok(statuses.includes(status), `${name} ${status}`)
      if (path.includes('{')) assert.ok(statuses.includes('404'), name)
      if (operation.requestBody) assert.ok(statuses.includes('400'), name)
    }
  })

  test('the path parameters of an operation are those of its path, and all are required', async () => {
    const { operations } = await readDocument()
    for (const { method, path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      assert.deepEqual(described.map(({ name }) => name).sort(), inPath.sort(), `${method} ${path}`)
      assert.ok(
        described.every(({ required, schema }) => required && schema),
        `${method} ${path}`,
      )
    }
  })

  test('every $ref has a target', async () => {
    const { document } = await readDocument()
    const references: string[] = []
    JSON.stringify(document, (key, value) => {
      if (key === '$ref') references.push(value)
      return value
    })
    assert.ok(references.length > 10)
    for (const reference of new Set(references)) {
      const [start, ...keys] = reference.split('/')
      assert.equal(start, '#', reference)
      const target = keys.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], document)
      assert.equal(typeof target, 'object', reference)
    }
    for (const name of Object.keys(document.components.schemas)) assert.match(name, /^[A-Za-z0-9._-]+$/)
  })

  test('the description of tus has its headers, statuses and authentication methods', async () => {
    const { document } = await readDocument()
    const creation = document.paths['/tus']?.post
    const { head, patch, delete: termination } = document.paths['/tus/{uploadId}'] ?? {}
    assert.ok(creation && head && patch && termination)
    assert.deepEqual(creation.security, [{ apiKey: [] }, { bearerAuth: [] }, { uploadToken: [] }])
    const headersOf = ({ parameters }: Operation) =>
      parameters?.filter((each) => each.in === 'header').map(({ name }) => name)
    for (const name of ['Tus-Resumable', 'Upload-Length', 'Upload-Defer-Length', 'Upload-Metadata'])
      assert.ok(headersOf(creation)?.includes(name), name)
    assert.deepEqual(Object.keys(patch.requestBody?.content ?? {}), ['application/offset+octet-stream'])
    assert.ok(headersOf(patch)?.includes('Upload-Offset'))
    for (const [operation, statuses] of [
      [creation, ['201', '400', '401', '404', '408', '412', '413', '429', '460', '501']],
      [head, ['200', '404', '412', '429']],
      [patch, ['204', '400', '404', '408', '409', '412', '413', '415', '429', '460']],
      [termination, ['204', '400', '404', '412', '429']],
    ] as const)
      assert.deepEqual(Object.keys(operation.responses), statuses)
    const sent = (operation: Operation, status: string) =>
      Object.keys((operation.responses[status] as { headers?: Json }).headers ?? {})
    assert.ok(sent(creation, '201').includes('Location'))
    assert.ok(sent(head, '200').includes('Upload-Offset'))
    assert.ok(sent(patch, '204').includes('X-RateLimit-Remaining'))
  })

  test('every described operation exists', async () => {
    const { operations } = await readDocument()
    for (const { method, path, operation } of operations) {
      // A path parameter with an enum gets its first value.
      const parameterValue = (name: string) =>
        (operation.parameters?.find((each) => each.name === name)?.schema?.enum as string[])?.[0] ?? 'x'
      const response = await call(
        service.url + path.replaceAll(/\{(\w+)\}/g, (_, name) => parameterValue(name)),
        {
          method: method.toUpperCase(),
        },
      )
      const slug = response.body?.type?.split('/').pop()
      assert.ok(slug !== 'unrecognized-request-url' && slug !== 'method-not-allowed', `${method} ${path}`)
    }
  })
})

describe('HTML pages', () => {
  const policy = ({ headers }: { headers: Headers }) => headers.get('content-security-policy') ?? ''

  function checkPage(html: string) {
    assert.match(html, /^<!doctype html>\n<html lang="/)
    assert.match(html, /<title>[^<]+<\/title>/)
    // The content security policy blocks inline scripts, styles and event handlers.
    assert.doesNotMatch(
      html,
      /<(script|style|iframe|object|embed|form|base)\b|<[a-z][^>]*\s(on\w+|style)=|javascript:/i,
    )
    const ids = [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
    assert.equal(new Set(ids).size, ids.length)
    for (const [, id] of html.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(id), `#${id}`)
  }

  test('the API page without scripts contains every operation', async () => {
    const { operations } = await readDocument()
    const page = await get('/docs/plain')
    assert.equal(page.status, 200)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(policy(page), /default-src 'none'/)
    assert.doesNotMatch(policy(page), /unsafe-inline|unsafe-eval/)
    checkPage(page.text)
    for (const { method, path, operation } of operations) {
      assert.ok(page.text.includes(`id="${operation.operationId}"`), operation.operationId)
      assert.ok(page.text.includes(`href="#${operation.operationId}"`), operation.operationId)
      assert.ok(page.text.includes(`<code>${path}</code>`), path)
      assert.ok(page.text.includes(`>${method.toUpperCase()}</span>`), method)
      assert.ok(page.text.includes(operation.summary), operation.summary)
    }
    for (const [, path] of page.text.matchAll(/(?:href|src)="(\/[^"]*)"/g))
      assert.equal((await get(path!)).status, 200, path)
  })

  test('a page contains nothing from the request', async () => {
    const attack = '"><script>alert(1)</script>'
    for (const path of ['/docs', '/docs/plain', '/docs/guides/videos', '/docs/errors/invalid-attribute']) {
      const plain = await get(path)
      const attacked = await call(
        `${service.url}${path}?x=${encodeURIComponent(attack)}#${encodeURIComponent(attack)}`,
        {
          key: '',
          headers: { 'x-forwarded-host': attack, referer: attack, 'user-agent': attack },
        },
      )
      assert.equal(attacked.text, plain.text)
    }
    for (const folder of ['errors', 'guides', 'assets']) {
      const missing = await get(`/docs/${folder}/${encodeURIComponent(attack)}`)
      assert.equal(missing.status, 404)
      assert.ok(!missing.text.includes('<script'))
    }
  })

  test('the API page loads scripts of the service only, and its files are cached forever', async () => {
    const page = await get('/docs')
    assert.match(policy(page), /^default-src 'none'; script-src 'self';/)
    assert.doesNotMatch(policy(page), /unsafe-eval|script-src[^;]*unsafe|https?:|\*/)
    const scripts = [...page.text.matchAll(/<script src="([^"]+)" defer><\/script>/g)].map(
      ([, path]) => path!,
    )
    assert.equal(scripts.length, 2)
    for (const path of scripts) {
      const script = await get(path)
      assert.equal(script.status, 200)
      assert.match(script.headers.get('cache-control') ?? '', /immutable/)
      assert.ok(['br', 'gzip'].includes(script.headers.get('content-encoding') ?? ''), path)
    }
    for (const name of ['manifest.json', 'LICENSE-scalar.txt', 'built-from', '..%2f..%2fpackage.json'])
      assert.equal((await get(`/docs/assets/${name}`)).status, 404, name)
  })

  test('every Markdown file of the docs is a page, and every internal link on it has a target', async () => {
    const names = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
    assert.ok(names.length > 15)
    const paths = new Set(['/docs/guides', ...names.map((name) => `/docs/guides/${name.slice(0, -3)}`)])
    const targets = new Map<string, string>()
    // The set grows during the iteration.
    for (const path of paths) {
      const page = await get(path)
      assert.equal(page.status, 200, path)
      targets.set(path, page.text)
      if (!path.startsWith('/docs/guides')) continue
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.doesNotMatch(policy(page), /unsafe|script-src/)
      checkPage(page.text)
      assert.doesNotMatch(page.text, /href="[^"]*\.md|<[a-z]+ [^>]*(href|src)="(?!\/|#|https?:)/, path)
      for (const [, link] of page.text.matchAll(/(?:href|src)="(\/[^"#]*)/g)) paths.add(link!)
    }
    for (const name of names)
      assert.ok(targets.get('/docs/guides')?.includes(`/docs/guides/${name.slice(0, -3)}"`))
    for (const [path, text] of targets)
      for (const [, to, id] of text.matchAll(/href="(\/docs\/guides\/[^"#]*)#([^"]*)"/g))
        assert.ok(targets.get(to!)?.includes(` id="${id}"`), `${path}: ${to}#${id}`)
  })

  test('long responses are compressed', async () => {
    for (const path of ['/openapi.json', '/docs/openapi.json', '/docs/plain', '/docs/guides/videos']) {
      const { headers } = await call(service.url + path, { key: '', headers: { 'accept-encoding': 'gzip' } })
      assert.equal(headers.get('content-encoding'), 'gzip', path)
      const known = { 'accept-encoding': 'gzip', 'if-none-match': headers.get('etag') ?? '' }
      assert.equal((await call(service.url + path, { key: '', headers: known })).status, 304, path)
    }
  })

  test('every error type has a page', async () => {
    const all = await get('/docs/plain')
    const list = await get('/docs/errors')
    checkPage(list.text)
    for (const { slug, status } of errorKinds) {
      assert.ok(list.text.includes(`href="/docs/errors/${slug}"`), slug)
      const page = await get(`/docs/errors/${slug}`)
      assert.equal(page.status, 200, slug)
      assert.equal(policy(page), policy(all))
      checkPage(page.text)
      assert.ok(page.text.includes(slug) && page.text.includes(String(status)), slug)
      assert.ok(all.text.includes(`href="/docs/errors/${slug}"`), slug)
    }
  })
})

describe('Markdown docs', () => {
  test('the settings page lists exactly the settings, with their defaults', async () => {
    const rows = [...(await read('docs/settings.md')).matchAll(/^\| `(KINORA_\w+)` \| (.*?) \| (.+) \|$/gm)]
    const listed = Object.fromEntries(rows.map(([, name, byDefault]) => [name, byDefault]))
    const cellOf = (name: string, byDefault: string) => {
      // This is the only default that depends on the machine.
      if (name === 'KINORA_ENCODE_SLOTS') return 'number of cores'
      return byDefault === '' ? '–' : `\`${byDefault}\``
    }
    const expected = Object.entries(settings).map(([name, setting]) => [name, cellOf(name, setting.default)])
    assert.deepEqual(listed, Object.fromEntries(expected))
  })

  test('every setting that the docs mention exists', async () => {
    for (const file of await markdownFiles()) {
      for (const [name] of (await read(file)).matchAll(/\bKINORA_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g)) {
        // The examples and the command line keep an API key in this variable.
        if (name !== 'KINORA_KEY') assert.ok(name in settings, `${file}: ${name}`)
      }
    }
  })

  test('every link between the pages has a target', async () => {
    for (const file of await markdownFiles()) {
      for (const [, link] of (await read(file)).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)) {
        await assert.doesNotReject(readFile(join(root, dirname(file), link!)), `${file}: ${link}`)
      }
    }
  })

  async function markdownFiles() {
    const names = [
      ...(await readdir(root)),
      ...(await readdir(join(root, 'docs'))).map((name) => `docs/${name}`),
    ]
    return names.filter((name) => name.endsWith('.md'))
  }
})
