import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { SignJWT } from 'jose'
import {
  type ApiResponse,
  call,
  callRaw,
  productionKey,
  sandboxKey,
  sharedKinora,
  waitFor,
  waitUntilReady,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { makeVideo, onDisk } from '../support/stored-video.ts'

// Fuzz tests: generated requests, from almost valid to random, to every described and undescribed route. The service
// must respond to each of them, and never with an internal error.

const service = sharedKinora(withoutEncoding())

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  maxLength?: number
  maximum?: number
}
type Operation = {
  parameters?: { name: string; in: string; schema?: Schema }[]
  requestBody?: { content: Record<string, { schema?: Schema }> }
}
type Route = {
  method: string
  path: string
  queries: { name: string; schema: Schema }[]
  body: Schema | undefined
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const undescribed = [
  '/',
  '/favicon.svg',
  '/robots.txt',
  '/docs',
  '/docs/plain',
  '/docs/openapi.json',
  '/docs/style.css',
  '/docs/bar.css',
  '/docs/assets/{name}',
  '/docs/guides',
  '/docs/guides/{name}',
  '/docs/errors',
  '/docs/errors/{slug}',
  '/openapi.json',
  '/healthz',
  '/readyz',
  '/metrics',
]

function readRoutes(document: Document): Route[] {
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      queries: parameters
        .filter((parameter) => parameter.in === 'query')
        .map(({ name, schema = {} }) => ({ name, schema })),
      body: requestBody?.content['application/json']?.schema,
    })),
  )
  return [...routes, ...undescribed.map((path) => ({ method: 'GET', path, queries: [], body: undefined }))]
}

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'LOCK',
  'SEARCH',
]

// Includes unpaired surrogates.
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit))
const edgeCases = [
  ...[
    '',
    '\0',
    '\ud800',
    '__proto__',
    'constructor',
    "';--",
    '%',
    '_',
    '\\',
    '../..',
    '%00',
    '%zz',
    '🎬',
    'null',
  ],
  ...['-1', '0', '1e400', '9'.repeat(20), 'NaN', '{}', '[]', 'true', 'http://[', 'https://x/y.mp4'],
]
const randomText = fc.oneof(
  { arbitrary: fc.constantFrom(...edgeCases), weight: 3 },
  { arbitrary: fc.string({ maxLength: 40 }), weight: 1 },
  { arbitrary: fc.string({ unit: anyUnit, maxLength: 20 }), weight: 1 },
  { arbitrary: fc.integer({ min: 200, max: 3_000 }).map((length) => 'ü'.repeat(length)), weight: 1 },
)

/** A value that matches the schema, almost matches it, or does not match it. */
function valueFor(
  schema: Schema,
  schemas: Document['components']['schemas'],
  depth = 0,
): fc.Arbitrary<unknown> {
  const resolved = schema.$ref ? schemas[schema.$ref.split('/').pop()!]! : schema
  const randomValue = fc.oneof(randomText, fc.jsonValue({ maxDepth: 2 }))
  const matching = (): fc.Arbitrary<unknown> => {
    const types = [resolved.type ?? []].flat()
    if (resolved.enum) return fc.constantFrom(...resolved.enum)
    if (types.includes('string')) {
      const limit = resolved.maxLength ?? 10
      return fc.oneof(
        { arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), weight: 3 },
        { arbitrary: randomText, weight: 1 },
        { arbitrary: fc.constantFrom('x'.repeat(limit), 'x'.repeat(limit + 1)), weight: 1 },
      )
    }
    if (types.includes('integer') || types.includes('number')) {
      const limit = resolved.maximum ?? 0
      return fc.oneof(fc.integer(), fc.double(), fc.constantFrom(limit, limit + 1, -1, 2 ** 53))
    }
    if (types.includes('boolean')) return fc.boolean()
    if (types.includes('array')) {
      return fc.array(depth < 4 ? valueFor(resolved.items ?? {}, schemas, depth + 1) : randomValue, {
        maxLength: 5,
      })
    }
    if (!resolved.properties || depth > 3) return fc.dictionary(randomText, randomValue, { maxKeys: 3 })
    // A few attributes at a time, because with all of them at least one is always invalid.
    const all = Object.entries(resolved.properties)
    const some = fc
      .subarray(all, { maxLength: Math.min(3, all.length) })
      .chain((chosen) =>
        fc.record(Object.fromEntries(chosen.map(([name, of]) => [name, valueFor(of, schemas, depth + 1)]))),
      )
    const more = fc.oneof(fc.constant({}), fc.dictionary(randomText, randomText, { maxKeys: 1 }))
    return fc.tuple(some, more).map(([object, others]) => ({ ...object, ...others }))
  }
  return fc.oneof({ arbitrary: matching(), weight: 8 }, { arbitrary: randomValue, weight: 1 })
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())
/** Text for a request line, percent-encoded or not. */
const pathText = fc.oneof(
  { arbitrary: randomText.map(encode), weight: 4 },
  { arbitrary: randomText.map((text) => text.replaceAll(/[^\x21-\xff]/g, '')), weight: 1 },
)

type GeneratedRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}

function requestTo(
  route: Route,
  schemas: Document['components']['schemas'],
  ids: string[],
): fc.Arbitrary<GeneratedRequest> {
  const id = fc.oneof(fc.constantFrom(...ids), pathText)
  const rest = fc.oneof({ arbitrary: fc.constant(''), weight: 9 }, { arbitrary: pathText, weight: 1 })
  const method = fc.oneof(
    { arbitrary: fc.constant(route.method), weight: 4 },
    { arbitrary: fc.constantFrom(...methods), weight: 1 },
  )
  const prefix = fc.constantFrom('', '', '', '/sandbox', '/', '/sandbox/', '//sandbox')
  const path = fc
    .tuple(prefix, fc.array(id, { minLength: 3, maxLength: 3 }), rest)
    .map(([before, values, after]) => {
      const filled = route.path.replaceAll(/\{\w+\}/g, () => values.pop()!)
      return `${before}${filled}${after && '/'}${after}`
    })
  const parameter = fc
    .constantFrom(...route.queries, { name: 'unknown', schema: {} })
    .chain(({ name, schema }) =>
      fc.tuple(
        fc.oneof(
          fc.constant(name),
          fc.constantFrom(`${name}[]`, `${name}[0]`, `${name}[][1]`, `${name}[`, `${name}]`),
          randomText.map((key) => `${name}[${key}]`),
        ),
        valueFor(schema, schemas).map((value) =>
          typeof value === 'string' ? value : `${JSON.stringify(value)}`,
        ),
      ),
    )
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
  const search = fc
    .array(fc.oneof({ arbitrary: parameter, weight: 6 }, { arbitrary: pathText, weight: 1 }), {
      maxLength: 4,
    })
    .map((parts) => (parts.length > 0 ? `?${parts.join('&')}` : ''))
  const valid = (route.body ? valueFor(route.body, schemas) : fc.jsonValue()).map((value) =>
    JSON.stringify(value),
  )
  const body = fc.oneof(
    { arbitrary: valid, weight: 6 },
    { arbitrary: fc.tuple(valid, fc.nat(60)).map(([text, end]) => text?.slice(0, end)), weight: 1 },
    { arbitrary: fc.oneof(randomText, fc.constant(undefined)), weight: 1 },
  )
  const authorization = fc.oneof(
    { arbitrary: fc.constant(productionKey), weight: 6 },
    { arbitrary: fc.oneof(fc.constant(sandboxKey), randomText), weight: 1 },
  )
  const headers = fc
    .record(
      {
        authorization: authorization.map((key) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`),
        'content-type': fc.oneof(
          fc.constantFrom(
            'application/json',
            'text/plain',
            'multipart/form-data; boundary="x"',
            'application/x-www-form-urlencoded',
          ),
          headerText,
        ),
        accept: headerText,
        origin: headerText,
        'content-range': fc.oneof(headerText, fc.constantFrom('bytes 0-1/2', 'part 1/*')),
        'av-origin-client': headerText,
        'content-encoding': fc.constantFrom('gzip', 'br', 'x'),
        'access-control-request-method': headerText,
        'if-none-match': headerText,
        range: fc.oneof(headerText, fc.constant('bytes=0-')),
      },
      { requiredKeys: ['authorization'] },
    )
    .map((given) => given as Record<string, string>)
  return (
    fc
      .tuple(method, path, search, headers, body)
      .map(([m, p, s, h, b]) => ({ method: m, path: p + s, headers: h, body: b }))
      // The HTTP parser rejects longer headers. bad-requests.test.ts covers them.
      .filter(({ path: p, headers: h }) => p.length + JSON.stringify(h).length < 15_000)
  )
}

const headerText = randomText.map((text) => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '').slice(0, 200))

/** Asks again after 503: on a busy machine the check of /readyz can exceed its time limit. */
async function send({ method, path, headers, body }: GeneratedRequest): Promise<ApiResponse> {
  let response: ApiResponse | undefined
  await waitFor(
    async () => {
      response = await callRaw(service.url, path, { method, headers, ...(body !== undefined && { body }) })
      return response.status !== 503
    },
    () => response?.text ?? '',
  )
  return response!
}

async function check(sent: GeneratedRequest): Promise<void> {
  const { method } = sent
  const response = await send(sent)
  const label = `${response.status} ${response.text.slice(0, 300)}`
  // oEmbed returns 501 for an unknown format.
  assert.ok(response.status < 500 || response.status === 501, label)
  const type = response.headers.get('content-type')
  if (response.status >= 400) {
    assert.equal(type, 'application/problem+json', label)
    if (method === 'HEAD') return
    assert.equal(response.body.status, response.status, label)
    assert.ok(response.body.type.startsWith(`${service.url}/docs/errors/`), label)
    assert.ok(response.body.title.length > 5, label)
  } else if (response.body !== undefined) {
    assert.equal(type, 'application/json', label)
  }
}

test('no generated request causes an internal error, and every error response is a problem', async () => {
  const { body: document } = await call(`${service.url}/openapi.json`)
  const routes = readRoutes(document)
  assert.ok(routes.length > undescribed.length + 8)
  const ids: string[] = []
  for (let n = 0; n < 3; n++)
    ids.push((await call(`${service.url}/videos`, { method: 'POST', json: {} })).body.id)

  // Concurrent requests to all routes, with one property for each route, so that a failure shows one request.
  const results = await Promise.allSettled(
    routes.map((route) =>
      fc.assert(fc.asyncProperty(requestTo(route, document.components.schemas, ids), check), {
        numRuns: route.body ? 150 : 40,
        // On a machine that is too slow for this, each route still gets some requests.
        interruptAfterTimeLimit: 60_000,
      }),
    ),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason

  await waitUntilReady(service.url)
  const after = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Still works' } })
  assert.equal(after.status, 201)
  assert.doesNotMatch(service.output(), /"level":"error"/)
})

// --- requests of viewers, without a key

const files = [
  ...['hls/manifest.m3u8', 'hls/240p/manifest.m3u8', 'hls/240p/init.mp4', 'hls/240p/video-0.m4s'],
  ...['hls/sound/manifest.m3u8', 'mp4/source.mp4', 'thumbnail.jpg', 'session', 'config.json', ''],
]

/** A token with a valid signature and arbitrary claims. */
async function signToken(videoId: string, claims: Record<string, unknown>): Promise<string> {
  const { body } = await call(`${service.url}/signing-keys`, { method: 'POST', json: {} })
  return new SignJWT({ sub: videoId, exp: Math.floor(Date.now() / 1000) + 3_600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: body.signingKeyId })
    .sign(createPrivateKey(body.privateKey))
}

/** Includes texts with as many characters as a resume token, but more bytes. */
const randomResumeToken = fc.oneof(
  randomText,
  fc.string({ unit: anyUnit, minLength: 26, maxLength: 26 }),
  fc.constantFrom('é'.repeat(26), `${'0'.repeat(7)}-${'x'.repeat(22)}`, `zzzzzzzz-${'_'.repeat(22)}`),
)

function viewerRequest(videoIds: string[], tokens: string[]): fc.Arbitrary<GeneratedRequest> {
  const token = fc.oneof(
    { arbitrary: fc.constantFrom(...tokens), weight: 4 },
    { arbitrary: randomText.map(encode), weight: 1 },
    {
      arbitrary: fc.tuple(fc.constantFrom(...tokens), fc.nat(200)).map(([t, end]) => t.slice(0, end)),
      weight: 1,
    },
  )
  const file = fc.oneof(
    { arbitrary: fc.constantFrom(...files), weight: 6 },
    { arbitrary: pathText, weight: 1 },
    { arbitrary: pathText.map((text) => `hls/240p/${text}`), weight: 1 },
  )
  const path = fc
    .tuple(
      fc.oneof({ arbitrary: fc.constantFrom(...videoIds), weight: 6 }, { arbitrary: pathText, weight: 1 }),
      fc.option(token),
      file,
    )
    .map(([id, t, f]) => `/vod/${id}${t === null ? '' : `/token/${t}`}${f && '/'}${f}`)
  const parameter = fc
    .tuple(
      fc.constantFrom('avh', 'avh', 'avh', 'token', 'dl', 'metadata[a]', 'avh[]'),
      fc.oneof(randomResumeToken.map(encode), token),
    )
    .map((pair) => pair.join('='))
  const search = fc
    .array(parameter, { maxLength: 3 })
    .map((all) => (all.length > 0 ? `?${all.join('&')}` : ''))
  const cookie = fc
    .array(fc.tuple(fc.constantFrom('kinora_00000000', '=', ';', ''), headerText), { maxLength: 3 })
    .map((pairs) => pairs.map((pair) => pair.join('=')).join(';'))
  const headers = fc.record(
    {
      cookie,
      referer: fc.oneof(headerText, fc.constantFrom('http://[', 'https://a.example:99999/', 'about:blank')),
      range: fc.oneof(
        headerText,
        fc.constantFrom('bytes=0-', 'bytes=-1', 'bytes=9-1', 'bytes=1e9-', 'bytes=0-1,3-4'),
      ),
      'if-range': headerText,
      'if-none-match': headerText,
      'if-modified-since': headerText,
      'user-agent': headerText,
      'accept-encoding': headerText,
    },
    { requiredKeys: [] },
  )
  return fc
    .tuple(fc.constantFrom('GET', 'HEAD', 'OPTIONS'), path, search, headers)
    .map(([method, p, s, h]) => ({
      method,
      path: p + s,
      headers: h as Record<string, string>,
      body: undefined,
    }))
    .filter(({ path: p, headers: h }) => p.length + JSON.stringify(h).length < 15_000)
}

test('no generated request of a viewer causes an internal error', async () => {
  const [publicVideo, privateVideo] = [
    await makeVideo(service, onDisk(service)),
    await makeVideo(service, onDisk(service)),
  ]
  await call(`${service.url}/videos/${privateVideo}`, { method: 'PATCH', json: { public: false } })
  const issued: string[] = []
  for (let n = 0; n < 5; n++) {
    const { body } = await call(`${service.url}/videos/${privateVideo}`)
    issued.push(/token=(.+)$/.exec(body.assets.player)![1]!)
  }
  const unusualClaims = [
    ...[{}, {}, {}],
    { nbf: -1e300, iat: 'x' },
    { exp: 1e300 },
    { referrers: ['[', '*.', '', ':0', '*.*', 'é', 'a'.repeat(5_000)] },
    { countries: ['\ud800', ''] },
    { referrers: null },
    { sub: [privateVideo] },
  ]
  const signed = await Promise.all(unusualClaims.map((claims) => signToken(privateVideo, claims)))
  const check = async ({ method, path, headers }: GeneratedRequest) => {
    const { status, text } = await callRaw(service.url, path, { method, headers })
    assert.ok(status < 500, `${status} ${text.slice(0, 300)}`)
  }
  await fc.assert(
    fc.asyncProperty(viewerRequest([publicVideo, privateVideo, privateVideo], [...issued, ...signed]), check),
    {
      numRuns: 600,
      interruptAfterTimeLimit: 60_000,
    },
  )
  assert.doesNotMatch(service.output(), /"level":"error"/)
})
