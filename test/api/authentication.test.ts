import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  type ApiResponse,
  assertProblem,
  call,
  kinora,
  productionKey,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
} from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// Authentication and rate limits.

const service = sharedKinora()
const at = (path: string) => service.url + path
const basic = (text: string) => `Basic ${btoa(text)}`

const list = (authorization: string, base = '') =>
  call(at(`${base}/videos`), { key: '', headers: { authorization } })

const post = (path: string, json: unknown) => call(at(path), { method: 'POST', key: '', json })

async function tokensOf(apiKey = productionKey, base = '') {
  const response = await post(`${base}/auth/api-key`, { apiKey })
  assert.equal(response.status, 200, response.text)
  return response.body as { access_token: string; refresh_token: string }
}

const hash = (secret: string) => createHash('sha256').update(secret).digest()
const expire = (token: string) =>
  query(service.database, `update tokens set expires_at = now() - interval '1 second' where hash = $1`, [
    hash(token),
  ])

describe('credentials', () => {
  test('Basic accepts the key as user name, with or without a password, and the scheme in any case', async () => {
    for (const value of [
      basic(`${productionKey}:`),
      basic(`${productionKey}:password`),
      basic(`${productionKey}:a:b`),
      basic(productionKey),
      basic(`${productionKey}:`).replace('Basic', 'basic'),
      basic(`${productionKey}:`).replace('Basic', 'BASIC'),
    ]) {
      assert.equal((await list(value)).status, 200, value)
    }
  })

  test('Bearer accepts an access token or the key itself, and the scheme in any case', async () => {
    const { access_token } = await tokensOf()
    for (const secret of [access_token, productionKey]) {
      for (const scheme of ['Bearer', 'bearer', 'BEARER'])
        assert.equal((await list(`${scheme} ${secret}`)).status, 200)
    }
  })

  test('each kind of invalid header has its own error type', async () => {
    const { access_token, refresh_token } = await tokensOf()
    const headers = {
      'missing-authorization-header': ['', ' '],
      'invalid-authorization-header-value': [
        'Basic',
        'Bearer',
        productionKey,
        `Digest ${productionKey}`,
        'Bearer a b',
        'Basic !!!',
        basic(':password'),
      ],
      'invalid-api-key': [basic('unknown:'), basic(`${access_token}:`), basic('\0é:')],
      'invalid-access-token': ['Bearer unknown', `Bearer ${refresh_token}`],
    }
    for (const [slug, values] of Object.entries(headers)) {
      for (const value of values) assertProblem(await list(value), 401, `authentication-${slug}`)
    }
    assertProblem(await call(at('/videos'), { key: '' }), 401, 'authentication-missing-authorization-header')
  })

  test('every API route requires a key', async () => {
    const { body: document } = await call(at('/openapi.json'), { key: '' })
    let routes = 0
    for (const [path, operations] of Object.entries<Record<string, { security?: unknown[] }>>(
      document.paths,
    )) {
      for (const [method, { security }] of Object.entries(operations)) {
        if (security?.length === 0) continue
        const response = await call(at(path.replaceAll(/\{\w+\}/g, 'x')), {
          method: method.toUpperCase(),
          key: '',
          headers: { 'tus-resumable': '1.0.0' },
        })
        const missing = path === '/upload' ? 'upload-token' : 'authorization-header'
        assertProblem(response, 401, `authentication-missing-${missing}`)
        routes++
      }
    }
    assert.ok(routes >= 7)
  })

  test('without a /sandbox prefix, the key or token selects the environment', async () => {
    await createVideo(service, { title: 'production' })
    await createVideo({ url: service.url, key: sandboxKey }, { title: 'sandbox' })
    const exchanged = await tokensOf(sandboxKey)
    const refreshed = await post('/auth/refresh', { refreshToken: exchanged.refresh_token })
    assert.equal(refreshed.status, 200, refreshed.text)
    const prefixed = await tokensOf(sandboxKey, '/sandbox')
    for (const [value, title] of [
      [basic(`${productionKey}:`), 'production'],
      [`Bearer ${(await tokensOf()).access_token}`, 'production'],
      [basic(`${sandboxKey}:`), 'sandbox'],
      [`Bearer ${sandboxKey}`, 'sandbox'],
      [`Bearer ${exchanged.access_token}`, 'sandbox'],
      [`Bearer ${refreshed.body.access_token}`, 'sandbox'],
      [`Bearer ${prefixed.access_token}`, 'sandbox'],
    ] as const) {
      // The second request uses the cached credentials.
      for (let n = 0; n < 2; n++) {
        const { status, body, text } = await list(value)
        assert.equal(status, 200, text)
        assert.deepEqual(
          body.data.map((video: { title: string }) => video.title),
          [title],
        )
      }
    }
  })

  test('/sandbox rejects credentials of production', async () => {
    const production = await tokensOf()
    const sandbox = await tokensOf(sandboxKey)
    for (const value of [
      basic(`${productionKey}:`),
      `Bearer ${productionKey}`,
      `Bearer ${production.access_token}`,
    ]) {
      // The request without the prefix fills the credentials cache first.
      assert.equal((await list(value)).status, 200)
      assert.equal((await list(value, '/sandbox')).status, 401)
    }
    assert.equal((await list(`Bearer ${sandbox.access_token}`, '/sandbox')).status, 200)
    const slug = 'authentication-invalid-user-credentials'
    assertProblem(await post('/sandbox/auth/api-key', { apiKey: productionKey }), 400, slug, '')
    const foreign = await post('/sandbox/auth/refresh', { refreshToken: production.refresh_token })
    assertProblem(foreign, 400, slug, '')
    const own = await post('/sandbox/auth/refresh', { refreshToken: sandbox.refresh_token })
    assert.equal(own.status, 200, own.text)
    assert.equal((await post('/auth/refresh', { refreshToken: production.refresh_token })).status, 200)
  })

  test('an access token is valid until it expires', async () => {
    const { access_token } = await tokensOf()
    await expire(access_token)
    assertProblem(await list(`Bearer ${access_token}`), 401, 'authentication-invalid-access-token')
  })
})

describe('tokens', () => {
  test('the token response has the fields that clients read, and the token is valid for more than their margin of five minutes', async () => {
    const sentAt = Date.now()
    const tokens = (await post('/auth/api-key', { apiKey: productionKey })).body
    const answeredAt = Date.now()
    assert.deepEqual(Object.keys(tokens).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ])
    assert.equal(tokens.token_type, 'Bearer')
    assert.ok(tokens.expires_in > 300)
    const [row] = await query(service.database, 'select expires_at from tokens where hash = $1', [
      hash(tokens.access_token),
    ])
    const issuedAt = row.expires_at.getTime() - tokens.expires_in * 1_000
    assert.ok(issuedAt >= sentAt && issuedAt <= answeredAt, `${sentAt} ${issuedAt} ${answeredAt}`)
  })

  test('invalid credentials return 400 with an empty name, because clients authenticate again on 401', async () => {
    const { access_token } = await tokensOf()
    for (const [path, json] of [
      ['/auth/api-key', { apiKey: 'unknown' }],
      ['/auth/api-key', { apiKey: '' }],
      ['/auth/api-key', { apiKey: '\0\ud800' }],
      ['/auth/api-key', { apiKey: access_token }],
      ['/auth/refresh', { refreshToken: 'unknown' }],
      ['/auth/refresh', { refreshToken: access_token }],
      ['/auth/refresh', { refreshToken: productionKey }],
    ] as const) {
      assertProblem(await post(path, json), 400, 'authentication-invalid-user-credentials', '')
    }
  })

  test('the token routes ignore the Authorization header', async () => {
    for (const authorization of ['', 'Bearer wrong', basic('wrong:'), 'garbage']) {
      const response = await call(at('/auth/api-key'), {
        method: 'POST',
        key: '',
        headers: { authorization },
        json: { apiKey: productionKey },
      })
      assert.equal(response.status, 200, authorization)
    }
  })

  test('a refresh accepts JSON with the content type text/plain, which browsers send', async () => {
    const { refresh_token: refreshToken } = await tokensOf()
    const response = await call(at('/auth/refresh'), {
      method: 'POST',
      key: '',
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
      body: JSON.stringify({ refreshToken }),
    })
    assert.equal(response.status, 200, response.text)
  })

  test('a refresh returns two new tokens, and the used refresh token stays valid for one minute', async () => {
    const first = await tokensOf()
    const refresh = (refreshToken: string) => post('/auth/refresh', { refreshToken })
    const usedAt = Date.now()
    const second = (await refresh(first.refresh_token)).body
    const answeredAt = Date.now()
    assert.equal((await list(`Bearer ${second.access_token}`)).status, 200)
    assert.notEqual(second.refresh_token, first.refresh_token)

    const expiryOfFirst = async (): Promise<number> => {
      const [row] = await query(service.database, 'select expires_at from tokens where hash = $1', [
        hash(first.refresh_token),
      ])
      return row.expires_at.getTime()
    }
    const expiresAt = await expiryOfFirst()
    assert.ok(expiresAt >= usedAt + 60_000 && expiresAt <= answeredAt + 60_000, `${expiresAt - usedAt} ms`)
    const third = await refresh(first.refresh_token)
    assert.equal(third.status, 200, 'the client may not have received the first response')
    assert.equal(await expiryOfFirst(), expiresAt, 'a second use does not extend it')

    await expire(first.refresh_token)
    assertProblem(await refresh(first.refresh_token), 400, 'authentication-invalid-user-credentials', '')
    assert.equal((await refresh(second.refresh_token)).status, 200)
  })

  test('keys and tokens are stored as hashes', async () => {
    const { access_token, refresh_token } = await tokensOf()
    const rows = await query(
      service.database,
      `select t::text as row from api_keys t union all select t::text from tokens t`,
    )
    const stored = rows.map(({ row }) => row).join('\n')
    assert.ok(stored.includes(hash(access_token).toString('hex')))
    for (const secret of [access_token, refresh_token, productionKey, sandboxKey]) {
      assert.ok(!stored.includes(secret))
      assert.ok(!stored.includes(Buffer.from(secret).toString('hex')))
    }
  })
})

describe('rate limits', () => {
  const small = { KINORA_RATE_LIMIT_READS: '3', KINORA_RATE_LIMIT_WRITES: '2' }
  const limited = sharedKinora(small)

  function rateLimitOf({ headers }: { headers: Headers }) {
    const [limit, remaining, retryAfter] = ['limit', 'remaining', 'retry-after'].map((name) => {
      const value = headers.get(`x-ratelimit-${name}`)
      return value === null ? undefined : Number(value)
    })
    return { limit, remaining, retryAfter }
  }

  test('a key over its read limit gets 429 until the minute is over, and other keys and routes do not', async () => {
    const { url } = limited
    const tokens = await call(`${url}/auth/api-key`, { method: 'POST', json: { apiKey: productionKey } })
    for (const left of [2, 1, 0]) {
      const { limit, remaining, retryAfter } = rateLimitOf(await call(`${url}/videos`))
      assert.deepEqual([limit, remaining], [3, left])
      assert.ok(retryAfter! >= 1 && retryAfter! <= 60)
    }
    const bearer = { authorization: `Bearer ${tokens.body.access_token}` }
    for (const response of [
      await call(`${url}/videos`),
      await call(`${url}/tags`),
      await call(`${url}/videos`, { key: '', headers: bearer }),
    ]) {
      assertProblem(response, 429, 'too-many-requests')
      assert.deepEqual(Object.keys(response.body).sort(), ['status', 'title', 'type'])
      assert.deepEqual([rateLimitOf(response).limit, rateLimitOf(response).remaining], [3, 0])
      assert.ok(rateLimitOf(response).retryAfter! >= 1)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
    }
    const write = await call(`${url}/videos`, { method: 'POST', json: {} })
    assert.deepEqual([write.status, rateLimitOf(write).limit, rateLimitOf(write).remaining], [201, 2, 1])
    assert.equal((await call(`${url}/sandbox/videos`, { key: sandboxKey })).status, 200)
    for (let n = 0; n < 6; n++) {
      const response = await call(`${url}/auth/api-key`, { method: 'POST', json: { apiKey: productionKey } })
      assert.deepEqual([response.status, rateLimitOf(response).limit], [200, undefined])
    }
    assert.equal((await call(`${url}/healthz`)).status, 200)
  })

  test('rejected requests count and their responses carry the rate limit headers', async () => {
    // The other test has used up the limits of the production key.
    const send = (path: string, options: object = {}) =>
      call(`${limited.url}/sandbox${path}`, { key: sandboxKey, ...options })
    const invalid = await send('/videos', { method: 'POST', json: { title: 1 } })
    assert.deepEqual([invalid.status, rateLimitOf(invalid).remaining], [400, 1])
    const missing = await send('/videos/vi0123456789012345678901', { method: 'DELETE' })
    assert.deepEqual([missing.status, rateLimitOf(missing).remaining], [404, 0])
    assert.equal((await send('/videos', { method: 'POST', json: {} })).status, 429)
    assert.equal((await send('/videos')).body.pagination.itemsTotal, 0)
  })

  test('uploads count against the upload token or the key, for every upload method', async (t) => {
    const { url } = await kinora(t, { KINORA_RATE_LIMIT_UPLOADS: '3', KINORA_RATE_LIMIT_READS: '1' })
    const tus = { 'tus-resumable': '1.0.0' }
    const post = (path: string, options: object) => call(url + path, { method: 'POST', ...options })
    const create = (query: string, key = '') =>
      post(`/tus${query}`, { key, headers: { ...tus, 'upload-length': '9' } })
    const newToken = async () => (await post('/upload-tokens', { json: {} })).body.token
    const [one, other] = [await newToken(), await newToken()]
    const assertRateLimited = (response: ApiResponse) => {
      assertProblem(response, 429, 'too-many-requests')
      assert.deepEqual([rateLimitOf(response).limit, rateLimitOf(response).remaining], [3, 0])
      assert.ok(Number(response.headers.get('retry-after')) >= 1)
      assert.match(response.headers.get('access-control-expose-headers') ?? '', /x-ratelimit-retry-after/)
    }

    // Requests to the URL of an upload count against the token that created it.
    const sent = await sendFile(`${url}/upload?token=${one}`, Buffer.from('film'), { key: '' })
    assert.deepEqual([sent.status, rateLimitOf(sent).remaining], [201, 2], sent.text)
    const created = await create(`?token=${one}`)
    assert.deepEqual([created.status, rateLimitOf(created).remaining], [201, 1], created.text)
    const uploadUrl = created.headers.get('location') ?? ''
    const patch = (target: string) =>
      call(target, {
        method: 'PATCH',
        key: '',
        headers: { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
        body: '123',
      })
    assert.deepEqual([(await patch(uploadUrl)).status, (await patch(uploadUrl)).status], [204, 429])
    assertRateLimited(await patch(uploadUrl))
    assertRateLimited(await create(`?token=${one}`))
    assertRateLimited(await sendFile(`${url}/upload?token=${one}`, Buffer.from('film'), { key: '' }))
    const heads = [0, 1].map(() => call(uploadUrl, { method: 'HEAD', key: '', headers: tus }))
    assert.deepEqual((await Promise.all(heads)).map(({ status }) => status).sort(), [200, 429])

    // Each token has its own limit. A key has one limit for tus and all other uploads together.
    assert.equal((await create(`?token=${other}`)).status, 201)
    const { videoId } = (await post('/videos', { json: {} })).body
    for (const left of [2, 1]) assert.equal(rateLimitOf(await create('', productionKey)).remaining, left)
    assert.equal((await sendFile(`${url}/videos/${videoId}/source`, Buffer.from('film'))).status, 201)
    assertRateLimited(await create('', productionKey))

    // Requests without a valid token count against the IP address and do not affect valid tokens.
    const invalid = 'to0000000000000000000000'
    const attempts = [`/upload?token=${invalid}`, '/upload', `/upload?token=x`]
    for (const path of attempts) assert.equal((await post(path, { key: '' })).status, 401)
    assertRateLimited(await post(`/upload?token=${invalid}`, { key: '' }))
    assertRateLimited(await create(`?token=${invalid}`))
    assertRateLimited(await patch(`${url}/tus/x`))
    assert.equal((await create(`?token=${other}`)).status, 201)
  })

  test('rate limits can be turned off', async (t) => {
    const { url } = await kinora(t, { ...small, KINORA_RATE_LIMITS: 'off' })
    for (let n = 0; n < 8; n++) {
      const response = await call(`${url}/videos`)
      assert.deepEqual([response.status, rateLimitOf(response).limit], [200, undefined])
    }
  })

  test('the default limits are far above ordinary use', async () => {
    assert.ok(rateLimitOf(await call(at('/videos'))).limit! >= 10_000)
    assert.ok(rateLimitOf(await call(at('/videos'), { method: 'POST', json: {} })).limit! >= 10_000)
  })
})
