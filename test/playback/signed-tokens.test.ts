import assert from 'node:assert/strict'
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { newResumeToken } from '../../server/access/signed-token.ts'
import {
  type ApiResponse,
  assertNoErrorsLogged,
  assertProblem,
  call,
  kinora,
  query,
  type Service,
  sandboxKey,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { client } from '../support/published-client.ts'
import { assertEncoded, uploadVideo } from '../support/videos.ts'

// Playback tokens that the customer signs, tested on one encoded private video.

const nowSeconds = () => Math.floor(Date.now() / 1000)

let service: Service
let videoId: string
let key: { id: string; privateKey: KeyObject }
const ends: (() => unknown)[] = []

before(async () => {
  const clip = join(await temporaryFolder({ after }), 'clip.mp4')
  await makeClip(clip, { size: '426x240', seconds: 5 })
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_COUNTRY_HEADER: 'X-Country' })
  videoId = await uploadVideo(service, clip, { public: false })
  key = await createKey()
  await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
})
after(async () => {
  try {
    assertNoErrorsLogged(service)
  } finally {
    for (const end of ends) await end()
  }
})

async function createKey(apiKey?: string) {
  const url = apiKey === sandboxKey ? `${service.url}/sandbox` : service.url
  const { body, text, status } = await call(`${url}/signing-keys`, {
    method: 'POST',
    json: { name: 'Site' },
    ...(apiKey && { key: apiKey }),
  })
  assert.equal(status, 201, text)
  return { id: body.signingKeyId as string, privateKey: createPrivateKey(body.privateKey) }
}

type Claims = Record<string, unknown>

/** A valid token, except for the given claims. */
const sign = (claims: Claims = {}, { id, privateKey } = key) =>
  new SignJWT({ sub: videoId, exp: nowSeconds() + 3_600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: id })
    .sign(privateKey)

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const get = (token: string, file = 'hls/manifest.m3u8', headers: Record<string, string> = {}) =>
  call(`${service.url}/vod/${videoId}/token/${token}/${file}`, { key: '', headers })

const assertRejected = (response: ApiResponse) => {
  assertProblem(response, 404, 'resource-not-found', 'token')
  assert.equal(response.headers.get('cache-control'), 'no-store')
}

const statusOf = async (...args: Parameters<typeof get>) => (await get(...args)).status

describe('signing keys', () => {
  test('the private key is returned only on creation; the rest can be read until the key is deleted', async () => {
    const { body, status } = await call(`${service.url}/signing-keys`, { method: 'POST' })
    assert.equal(status, 201)
    assert.match(body.signingKeyId, /^sk\w{22}$/)
    assert.deepEqual([body.name, body.algorithm], ['', 'ES256'])
    assert.match(body.privateKey, /^-----BEGIN PRIVATE KEY-----\n/)
    const { privateKey: _, ...rest } = body
    const url = `${service.url}/signing-keys/${body.signingKeyId}`
    assert.deepEqual((await call(url)).body, rest)
    const list = (await call(`${service.url}/signing-keys?pageSize=1`)).body
    assert.deepEqual(list.data, [rest])
    assert.equal(list.pagination.itemsTotal, 2)
    assert.equal((await call(url, { method: 'DELETE' })).status, 204)
    for (const method of ['GET', 'DELETE'])
      assertProblem(await call(url, { method }), 404, 'resource-not-found', 'signingKeyId')
  })

  test('a signing key belongs to one environment', async () => {
    const url = `${service.url}/sandbox/signing-keys/${key.id}`
    assertProblem(await call(url, { key: sandboxKey }), 404, 'resource-not-found', 'signingKeyId')
    assertProblem(
      await call(url, { key: sandboxKey, method: 'DELETE' }),
      404,
      'resource-not-found',
      'signingKeyId',
    )
    assertRejected(await get(await sign({}, await createKey(sandboxKey))))
  })

  test('an error names the invalid attribute or parameter', async () => {
    const create = (json: unknown) => call(`${service.url}/signing-keys`, { method: 'POST', json })
    assertProblem(await create({ name: 5 }), 400, 'invalid-attribute', 'name')
    assertProblem(await create({ name: 'x'.repeat(101) }), 400, 'invalid-attribute', 'name')
    for (const id of ['sk', 'x', `sk${'0'.repeat(22)}`, "'"])
      assertProblem(
        await call(`${service.url}/signing-keys/${id}`),
        404,
        'resource-not-found',
        'signingKeyId',
      )
    assert.equal((await call(`${service.url}/signing-keys`, { key: '' })).status, 401)
  })
})

describe('a signed token', () => {
  test('a signed token works for any number of viewers, without sessions and cookies', async () => {
    const token = await sign()
    for (const userAgent of ['One/1.0', 'Two/1.0']) {
      const headers = { 'user-agent': userAgent, origin: 'https://page.example' }
      const master = await get(token, 'hls/manifest.m3u8', headers)
      assert.equal(master.status, 200)
      assert.match(master.text, /^240p\/manifest\.m3u8\?avh=[\w-]+$/m)
      for (const file of ['hls/240p/manifest.m3u8', 'hls/240p/init.mp4', 'mp4/source.mp4', 'session']) {
        const response = await get(token, file, headers)
        assert.equal(response.status, 200, file)
        assert.equal(response.headers.get('set-cookie'), null)
        assert.equal(response.headers.get('access-control-allow-origin'), '*')
        if (file !== 'session') assert.match(response.headers.get('cache-control')!, /^private, /)
      }
    }
  })

  test('ffmpeg can play a URL with a signed token', async () => {
    const url = `${service.url}/vod/${videoId}/token/${await sign()}/hls/manifest.m3u8`
    assert.equal(await ffmpeg('-i', url, '-f', 'null', '-'), '')
  })

  test('a signed token is valid for one video, also while that is public', async () => {
    assertRejected(await get(await sign({ sub: 'vi0000000000000000000000' })))
    assertRejected(await get(await sign({ sub: undefined })))
    assertRejected(await get(await sign({ sub: [videoId] })))
    const [good, forged] = [await sign(), await sign({ sub: 'x' })]
    const { videos } = client(service.url)
    await videos.update(videoId, { _public: true })
    assert.equal(await statusOf(good), 200)
    assertRejected(await get(forged))
    await videos.update(videoId, { _public: false })
  })

  test('a token without a valid signature is rejected', async () => {
    const claims = { sub: videoId, exp: nowSeconds() + 60 }
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const [header, payload, signature] = (await sign()).split('.') as [string, string, string]
    const publicKey = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' })
    const hs256 = `${base64({ alg: 'HS256', kid: key.id })}.${payload}`
    const wrong = {
      'another key': await sign({}, { ...key, privateKey: pair.privateKey }),
      'an unknown key': await sign({}, { ...key, id: 'sk0000000000000000000000' }),
      'no key': await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey),
      'another payload': `${header}.${base64({ ...claims, exp: nowSeconds() + 1e6 })}.${signature}`,
      'another header': `${base64({ alg: 'ES256', kid: key.id, typ: 'x' })}.${payload}.${signature}`,
      'no algorithm': `${base64({ alg: 'none', kid: key.id })}.${payload}.`,
      'HMAC with the public key': `${hs256}.${createHmac('sha256', publicKey).update(hs256).digest('base64url')}`,
      'a signature cut short': `${header}.${payload}.${signature.slice(0, -4)}`,
      'no signature': `${header}.${payload}.`,
      'two parts': `${header}.${payload}`,
      'a number as the key id': `${base64({ alg: 'ES256', kid: 5 })}.${payload}.${signature}`,
      'an unknown critical header': `${base64({ alg: 'ES256', kid: key.id, crit: ['x'], x: 1 })}.${payload}.${signature}`,
      dots: '....',
      'a long token': `${header}.${'A'.repeat(9000)}.${signature}`,
      'a null character': `${header}.%00.${signature}`,
    }
    for (const [name, token] of Object.entries(wrong)) {
      const response = await get(token)
      assert.equal(response.status, 404, name)
      assertRejected(response)
    }
    // Another ECDSA algorithm under the id of the same key.
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const es384 = new SignJWT(claims).setProtectedHeader({ alg: 'ES384', kid: key.id })
    assertRejected(await get(await es384.sign(other.privateKey)))
  })

  test('a signed token must expire; then it cannot start playback, but running playback may continue for a day', async () => {
    assertRejected(await get(await sign({ exp: undefined })))
    assertRejected(await get(await sign({ exp: String(nowSeconds() + 60) })))
    let short = ''
    let master: ApiResponse | undefined
    // On a busy machine, the token may expire before the request.
    await waitFor(async () => {
      short = await sign({ exp: nowSeconds() + 3 })
      master = await get(short)
      return master.status === 200
    })
    const resumeToken = /\?avh=[\w-]+/.exec(master!.text)![0]
    await waitFor(async () => (await statusOf(short)) === 404)
    const starts = ['hls/manifest.m3u8', 'mp4/source.mp4', 'session']
    const rest = ['hls/240p/manifest.m3u8', 'hls/240p/init.mp4', 'hls/240p/video-0.m4s', 'thumbnail.jpg']
    for (const file of [...starts, ...rest]) assertRejected(await get(short, file))
    for (const range of ['bytes=1-', 'bytes=0-', 'bytes=-99999999'])
      assertRejected(await get(short, `mp4/source.mp4${resumeToken}`, { range }))
    for (const file of starts) assertRejected(await get(short, file + resumeToken))
    for (const file of rest) assert.equal(await statusOf(short, file + resumeToken), 200, file)
    const laterRange = { range: 'bytes=16384-16999' }
    assert.equal(await statusOf(short, `mp4/source.mp4${resumeToken}`, laterRange), 206)

    // Resume tokens of another token, from more than a day ago, and forged ones.
    const [{ value: secret }] = await query(service.database, 'select value from secrets')
    const madeAgo = (seconds: number, token: string) =>
      `?avh=${newResumeToken({ secret, now: () => new Date(Date.now() - seconds * 1000) }, token)}`
    const longExpired = await sign({ exp: nowSeconds() - 86_000 })
    const valid = madeAgo(86_300, longExpired)
    assert.equal(await statusOf(longExpired, `hls/240p/init.mp4${valid}`), 200)
    for (const bad of [
      resumeToken,
      madeAgo(86_500, longExpired),
      valid.slice(0, -1) + (valid.endsWith('_') ? '-' : '_'),
      '?avh=',
    ])
      assertRejected(await get(longExpired, `hls/240p/init.mp4${bad}`))
  })

  test('a resume token that the service did not issue is replaced', async () => {
    const token = await sign()
    const invalid = ['', 'x', 'é'.repeat(26), 'é'.repeat(13), `zzzzzzz-${'x'.repeat(22)}`, '\0'.repeat(26)]
    for (const resumeToken of [
      ...invalid,
      `0000000-${'x'.repeat(22)}`,
      'NaN-'.padEnd(26, 'x'),
      'x'.repeat(5_000),
    ]) {
      const response = await get(token, `hls/manifest.m3u8?avh=${encodeURIComponent(resumeToken)}`)
      assert.equal(response.status, 200, response.text)
      assert.match(response.text, /\?avh=[0-9a-z]{6,8}-[\w-]{22}/)
    }
  })

  test('a signed token does not work before its nbf time', async () => {
    assertRejected(await get(await sign({ nbf: nowSeconds() + 600 }), 'hls/240p/init.mp4'))
    assertRejected(await get(await sign({ nbf: 'now' })))
    assert.equal(await statusOf(await sign({ nbf: nowSeconds() - 1 })), 200)
  })

  test('a signed token can be restricted to pages of certain hosts', async () => {
    const token = await sign({
      referrers: ['example.com', '*.Example.org', 'münchen.example', 'port.test:8080'],
    })
    const from = (referer: string) => statusOf(token, 'hls/manifest.m3u8', { referer })
    const good = [
      'https://example.com/page?x=1',
      'http://example.com:8080/',
      'https://a.b.example.org/',
      'https://xn--mnchen-3ya.example/',
      'http://port.test:8080/',
    ]
    for (const each of good) assert.equal(await from(each), 200, each)
    const bad = [
      'https://www.example.com/',
      'https://example.org/',
      'https://badexample.org/',
      'https://example.com.evil.test/',
      'https://evil.test/?example.com',
      'https://example.com@evil.test/',
      'http://port.test/',
      'http://localhost:1/',
      // Any page could embed the player to send this referrer.
      `${service.url}/vod/${videoId}?token=x`,
      'example.com',
      '',
    ]
    for (const each of bad) assert.equal(await from(each), 404, each)
    assertRejected(await get(token))
    assertRejected(await get(token, 'hls/240p/init.mp4', { referer: 'https://evil.test/' }))
    const referer = 'https://example.com/'
    // Playback that an allowed page has started continues, although the referrer is the player itself.
    const page = await call(`${service.url}/vod/${videoId}/config.json?token=${token}`, {
      key: '',
      headers: { referer },
    })
    for (const url of [page.body.hls, page.body.self]) {
      const headers = { referer: `${service.url}/` }
      assert.equal((await call(service.url + url, { key: '', headers })).status, 200, url)
      const bare = url.replace(/avh=[\w-]+&?/, '')
      const { status } = await call(service.url + bare, { key: '', headers })
      assert.equal(status, url === page.body.self ? 403 : 404, bare)
    }
    for (const referrers of ['example.com', [5], [], ['*'], ['']])
      assertRejected(await get(await sign({ referrers }), 'hls/manifest.m3u8', { referer }))
  })

  test('a signed token can be restricted to certain countries', async () => {
    const token = await sign({ countries: ['FR', 'be'] })
    const from = (country: string) => statusOf(token, 'hls/manifest.m3u8', { 'x-country': country })
    for (const each of ['FR', 'fr', 'BE']) assert.equal(await from(each), 200, each)
    for (const each of ['DE', '', 'XX', 'FR, DE']) assert.equal(await from(each), 404, each)
    assertRejected(await get(token))
    assertRejected(await get(token, 'hls/240p/init.mp4', { 'x-country': 'DE' }))
    assertRejected(await get(await sign({ countries: 'FR' }), 'hls/manifest.m3u8', { 'x-country': 'FR' }))
  })

  test('deleting the key invalidates its tokens, also during playback', async () => {
    const deleted = await createKey()
    const token = await sign({}, deleted)
    assert.equal(await statusOf(token), 200)
    await call(`${service.url}/signing-keys/${deleted.id}`, { method: 'DELETE' })
    for (const file of ['hls/manifest.m3u8', 'hls/240p/init.mp4', 'session'])
      assertRejected(await get(token, file))
    assert.equal(await statusOf(await sign()), 200)
  })
})
