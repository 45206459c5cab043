import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { call, productionKey, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// What the `detail` of a 404 or 401 tells, and what it must not tell.

const service = sharedKinora()
const at = (path: string) => service.url + path
const basic = (key: string) => `Basic ${btoa(`${key}:`)}`

/** Ids of objects of production, by the name of their parameter. */
async function createObjects(): Promise<Record<string, string>> {
  const create = async (path: string, json: object) => (await call(at(path), { method: 'POST', json })).body
  return {
    videoId: await createVideo(service, {}),
    liveStreamId: (await create('/live-streams', { name: 'Live' })).liveStreamId,
    playerId: (await create('/players', {})).playerId,
    webhookId: (
      await create('/webhooks', { url: 'https://example.com', events: ['video.encoding.quality.completed'] })
    ).webhookId,
    uploadToken: (await create('/upload-tokens', {})).token,
  }
}

const unknownIds: Record<string, string> = {
  videoId: 'vi0123456789012345678901',
  liveStreamId: 'li0123456789012345678901',
  playerId: 'pl0123456789012345678901',
  webhookId: 'webhook_0123456789012345678901',
  uploadToken: 'to0123456789012345678901',
}

describe('a 404', () => {
  test('is the same whether or not the other environment has the object', async () => {
    const ids = await createObjects()
    const { body: document } = await call(at('/openapi.json'), { key: '' })
    const compared = new Set<string>()
    for (const [path, operations] of Object.entries<object>(document.paths)) {
      const [, parameter = ''] = /\{(\w+)\}/.exec(path) ?? []
      if (!(parameter in ids)) continue
      for (const method of Object.keys(operations)) {
        const responseTo = async (id: string) => {
          const url = path.replace(`{${parameter}}`, id).replaceAll(/\{\w+\}/g, 'en')
          const json = method === 'patch' || method === 'post' ? {} : undefined
          const response = await call(at(url), { method: method.toUpperCase(), key: sandboxKey, json })
          const { 'x-request-id': _, date, ...headers } = Object.fromEntries(response.headers)
          delete headers['x-ratelimit-remaining']
          delete headers['x-ratelimit-retry-after']
          return { status: response.status, headers, text: response.text.replaceAll(id, '') }
        }
        const existing = await responseTo(ids[parameter]!)
        assert.deepEqual(existing, await responseTo(unknownIds[parameter]!), `${method} ${path}`)
        if (existing.status === 404) compared.add(parameter)
      }
    }
    assert.deepEqual([...compared].sort(), Object.keys(ids).sort())
  })

  test('names the object, its id and the environment that was searched', async () => {
    const detailOf = async (path: string, key: string) => (await call(at(path), { key })).body.detail
    const id = unknownIds.videoId
    assert.equal(
      await detailOf(`/videos/${id}`, sandboxKey),
      `There is no video "${id}" in sandbox. Sandbox keys see only sandbox objects.`,
    )
    assert.match(
      await detailOf(`/videos/${id}/status`, productionKey),
      / in production\. Production keys see only production objects\.$/,
    )
    assert.match(await detailOf(`/sandbox/videos/${id}`, sandboxKey), / in sandbox\./)
    assert.match(await detailOf('/live-streams/x', sandboxKey), /^There is no live stream "x" in sandbox\./)
    assert.match(await detailOf('/summaries/x/source', sandboxKey), /^There is no summary "x" in sandbox\./)
  })
})

describe('a 401', () => {
  const send = async (authorization: string | undefined, path = '/videos') => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const { status, body } = await call(at(path), { key: '', headers })
    assert.equal(status, 401)
    return body as { detail: string; name?: string }
  }

  test('says what is wrong with the header, without repeating it', async () => {
    const secret = 'secret0123456789'
    for (const [authorization, fault] of [
      [undefined, /^The request has no API key\./],
      ['', /^The request has no API key\./],
      [secret, /^The header must begin with "Bearer" or "Basic"/],
      [`Digest ${secret}`, /^The header must begin with "Bearer" or "Basic"/],
      ['bearer', /^The API key after "Bearer" is missing\./],
      ['Basic', /^The API key after "Basic" is missing\./],
      [`Bearer ${secret} ${secret}`, /^The header must not contain a space/],
      [`Basic ${btoa(`:${secret}`)}`, /^After "Basic", the header must be the base64 form/],
      [`Bearer ${secret}`, /^The key or token is unknown or expired, or it was revoked\./],
      [basic(secret), /^The API key is unknown or was revoked\./],
    ] as const) {
      const body = await send(authorization)
      assert.match(body.detail, fault, authorization)
      assert.equal(body.name, undefined)
      assert.ok(!JSON.stringify(body).includes(secret))
    }
  })

  test('says where to create a key', async () => {
    for (const [prefix, environment] of [
      ['', 'production'],
      ['/sandbox', 'sandbox'],
    ]) {
      const { detail } = await send(undefined, `${prefix}/videos`)
      assert.ok(detail.includes(` ${at(`/dashboard/${environment}/keys`)} `), detail)
      assert.match(detail, /"\S.* keys create" on the server\.$/)
    }
    const page = await call(at('/dashboard/production/keys'), { key: '' })
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
  })

  test('of /sandbox says that the key or token belongs to production', async () => {
    const { body: tokens } = await call(at('/auth/api-key'), {
      method: 'POST',
      json: { apiKey: productionKey },
    })
    const foreign = /of production, but URLs below \/sandbox accept only those of sandbox\./
    for (const authorization of [
      basic(productionKey),
      `Bearer ${productionKey}`,
      `Bearer ${tokens.access_token}`,
    ])
      assert.match((await send(authorization, '/sandbox/videos')).detail, foreign)
    const { body: token } = await call(at('/upload-tokens'), { method: 'POST', json: {} })
    const upload = (path: string) => call(at(path), { method: 'POST', key: '' })
    assert.match((await upload(`/sandbox/upload?token=${token.token}`)).body.detail, foreign)
    assert.match((await upload('/upload?token=to1')).body.detail, /^The upload token is unknown/)
    assert.match((await upload('/upload')).body.detail, /Create an upload token with POST \/upload-tokens\.$/)
  })

  test('says how to get another access token, and that Basic needs the key', async () => {
    const { body: tokens } = await call(at('/auth/api-key'), {
      method: 'POST',
      json: { apiKey: productionKey },
    })
    assert.match((await send(basic(tokens.access_token))).detail, /^This is an access token: /)
    await query(service.database, `update tokens set expires_at = now() - interval '1 second'`)
    assert.match((await send(`Bearer ${tokens.access_token}`)).detail, /^The access token has expired\. /)
  })

  test('is the same for a key that was revoked and one that never existed', async () => {
    await query(
      service.database,
      `insert into api_keys (id, environment, name, hash, created_at, revoked_at)
       values ('key_revoked', 'production', 'revoked', sha256('revoked'), now(), now())`,
    )
    assert.deepEqual(await send(basic('revoked')), await send(basic('unknown')))
  })
})
