import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { SignJWT } from 'jose'
import { call, callRaw, productionKey, sandboxKey, sharedKinora } from './harness.ts'
import { withoutEncoding } from './programs.ts'
import { makeVideo, onDisk } from './stored-video.ts'

// Generated requests, near to valid ones and far from them, to every route that the service describes and those
// that it does not: whatever comes, the service answers, and never by a fault of its own.

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
  '/docs',
  '/docs/style.css',
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

// Halves of surrogate pairs included.
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit))
const nasty = [
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
const wildText = fc.oneof(
  { arbitrary: fc.constantFrom(...nasty), weight: 3 },
  { arbitrary: fc.string({ maxLength: 40 }), weight: 1 },
  { arbitrary: fc.string({ unit: anyUnit, maxLength: 20 }), weight: 1 },
  { arbitrary: fc.integer({ min: 200, max: 3_000 }).map((length) => 'ü'.repeat(length)), weight: 1 },
)

/** A value that fits the schema, almost fits it, or does not at all. */
function near(schema: Schema, schemas: Document['components']['schemas'], depth = 0): fc.Arbitrary<unknown> {
  const found = schema.$ref ? schemas[schema.$ref.split('/').pop()!]! : schema
  const wild = fc.oneof(wildText, fc.jsonValue({ maxDepth: 2 }))
  const fits = (): fc.Arbitrary<unknown> => {
    const types = [found.type ?? []].flat()
    if (found.enum) return fc.constantFrom(...found.enum)
    if (types.includes('string')) {
      const edge = found.maxLength ?? 10
      return fc.oneof(
        { arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), weight: 3 },
        { arbitrary: wildText, weight: 1 },
        { arbitrary: fc.constantFrom('x'.repeat(edge), 'x'.repeat(edge + 1)), weight: 1 },
      )
    }
    if (types.includes('integer') || types.includes('number')) {
      const edge = found.maximum ?? 0
      return fc.oneof(fc.integer(), fc.double(), fc.constantFrom(edge, edge + 1, -1, 2 ** 53))
    }
    if (types.includes('boolean')) return fc.boolean()
    if (types.includes('array')) {
      return fc.array(depth < 4 ? near(found.items ?? {}, schemas, depth + 1) : wild, { maxLength: 5 })
    }
    if (!found.properties || depth > 3) return fc.dictionary(wildText, wild, { maxKeys: 3 })
    // A few attributes at a time: with all of them, one is always wrong.
    const all = Object.entries(found.properties)
    const some = fc
      .subarray(all, { maxLength: Math.min(3, all.length) })
      .chain((chosen) =>
        fc.record(Object.fromEntries(chosen.map(([name, of]) => [name, near(of, schemas, depth + 1)]))),
      )
    const more = fc.oneof(fc.constant({}), fc.dictionary(wildText, wildText, { maxKeys: 1 }))
    return fc.tuple(some, more).map(([object, others]) => ({ ...object, ...others }))
  }
  return fc.oneof({ arbitrary: fits(), weight: 8 }, { arbitrary: wild, weight: 1 })
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())
/** Text as it may stand in a request line, encoded or not. */
const pathText = fc.oneof(
  { arbitrary: wildText.map(encode), weight: 4 },
  { arbitrary: wildText.map((text) => text.replaceAll(/[^\x21-\xff]/g, '')), weight: 1 },
)

type Sent = { method: string; path: string; headers: Record<string, string>; body: string | undefined }

function requestTo(
  route: Route,
  schemas: Document['components']['schemas'],
  ids: string[],
): fc.Arbitrary<Sent> {
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
          wildText.map((key) => `${name}[${key}]`),
        ),
        near(schema, schemas).map((value) =>
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
  const valid = (route.body ? near(route.body, schemas) : fc.jsonValue()).map((value) =>
    JSON.stringify(value),
  )
  const body = fc.oneof(
    { arbitrary: valid, weight: 6 },
    { arbitrary: fc.tuple(valid, fc.nat(60)).map(([text, end]) => text?.slice(0, end)), weight: 1 },
    { arbitrary: fc.oneof(wildText, fc.constant(undefined)), weight: 1 },
  )
  const authorization = fc.oneof(
    { arbitrary: fc.constant(productionKey), weight: 6 },
    { arbitrary: fc.oneof(fc.constant(sandboxKey), wildText), weight: 1 },
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
      // Longer heads are refused before there is a request: another test sees to them.
      .filter(({ path: p, headers: h }) => p.length + JSON.stringify(h).length < 15_000)
  )
}

const headerText = wildText.map((text) => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '').slice(0, 200))

async function check(sent: Sent): Promise<void> {
  const { method, path, headers, body } = sent
  const answer = await callRaw(service.url, path, { method, headers, ...(body !== undefined && { body }) })
  const shown = `${answer.status} ${answer.text.slice(0, 300)}`
  // oEmbed answers 501 to a format that there is not.
  assert.ok(answer.status < 500 || answer.status === 501, shown)
  const type = answer.headers.get('content-type')
  if (answer.status >= 400) {
    assert.equal(type, 'application/problem+json', shown)
    if (method === 'HEAD') return
    assert.equal(answer.body.status, answer.status, shown)
    assert.ok(answer.body.type.startsWith(`${service.url}/docs/errors/`), shown)
    assert.ok(answer.body.title.length > 5, shown)
  } else if (answer.body !== undefined) {
    assert.equal(type, 'application/json', shown)
  }
}

test('no generated request makes the service fail, and every refusal is a problem', async () => {
  const { body: document } = await call(`${service.url}/openapi.json`)
  const routes = readRoutes(document)
  assert.ok(routes.length > undescribed.length + 8)
  const ids: string[] = []
  for (let n = 0; n < 3; n++)
    ids.push((await call(`${service.url}/videos`, { method: 'POST', json: {} })).body.id)

  // All routes at once, as a service has them; each by itself, so that a failure shows one request.
  const results = await Promise.allSettled(
    routes.map((route) =>
      fc.assert(fc.asyncProperty(requestTo(route, document.components.schemas, ids), check), {
        numRuns: route.body ? 150 : 40,
        interruptAfterTimeLimit: 15_000,
      }),
    ),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason

  assert.equal((await call(`${service.url}/readyz`)).status, 200)
  const after = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Still well' } })
  assert.equal(after.status, 201)
  assert.doesNotMatch(service.output(), /"level":"error"/)
})

// --- viewers, who need no key

const files = [
  ...['hls/manifest.m3u8', 'hls/240p/manifest.m3u8', 'hls/240p/init.mp4', 'hls/240p/video-0.m4s'],
  ...['hls/sound/manifest.m3u8', 'mp4/source.mp4', 'thumbnail.jpg', 'session', 'config.json', ''],
]

/** A good one, but for claims that may be of any kind. */
async function signToken(videoId: string, claims: Record<string, unknown>): Promise<string> {
  const { body } = await call(`${service.url}/signing-keys`, { method: 'POST', json: {} })
  return new SignJWT({ sub: videoId, exp: Math.floor(Date.now() / 1000) + 3_600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: body.signingKeyId })
    .sign(createPrivateKey(body.privateKey))
}

/** As long as a pass of the service in letters, but not in bytes. */
const wildPass = fc.oneof(
  wildText,
  fc.string({ unit: anyUnit, minLength: 26, maxLength: 26 }),
  fc.constantFrom('é'.repeat(26), `${'0'.repeat(7)}-${'x'.repeat(22)}`, `zzzzzzzz-${'_'.repeat(22)}`),
)

function viewing(videoIds: string[], tokens: string[]): fc.Arbitrary<Sent> {
  const token = fc.oneof(
    { arbitrary: fc.constantFrom(...tokens), weight: 4 },
    { arbitrary: wildText.map(encode), weight: 1 },
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
      fc.oneof(wildPass.map(encode), token),
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

test('no generated request of a viewer makes the service fail', async () => {
  const [open, hidden] = [
    await makeVideo(service, onDisk(service)),
    await makeVideo(service, onDisk(service)),
  ]
  await call(`${service.url}/videos/${hidden}`, { method: 'PATCH', json: { public: false } })
  const issued: string[] = []
  for (let n = 0; n < 5; n++) {
    const { body } = await call(`${service.url}/videos/${hidden}`)
    issued.push(/token=(.+)$/.exec(body.assets.player)![1]!)
  }
  const wildClaims = [
    ...[{}, {}, {}],
    { nbf: -1e300, iat: 'x' },
    { exp: 1e300 },
    { referrers: ['[', '*.', '', ':0', '*.*', 'é', 'a'.repeat(5_000)] },
    { countries: ['\ud800', ''] },
    { referrers: null },
    { sub: [hidden] },
  ]
  const signed = await Promise.all(wildClaims.map((claims) => signToken(hidden, claims)))
  const check = async ({ method, path, headers }: Sent) => {
    const { status, text } = await callRaw(service.url, path, { method, headers })
    assert.ok(status < 500, `${status} ${text.slice(0, 300)}`)
  }
  await fc.assert(fc.asyncProperty(viewing([open, hidden, hidden], [...issued, ...signed]), check), {
    numRuns: 600,
    interruptAfterTimeLimit: 15_000,
  })
  assert.doesNotMatch(service.output(), /"level":"error"/)
})
