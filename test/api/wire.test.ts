import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertProblem, call, sandboxKey, sendRaw, sharedKinora } from '../support/harness.ts'

// Details of requests and responses that existing clients rely on.

const service = sharedKinora()
const at = (path: string) => service.url + path

async function create(json: unknown = { title: 'A video' }) {
  const response = await call(at('/videos'), { method: 'POST', json })
  assert.equal(response.status, 201, response.text)
  return response.body
}

describe('response bodies', () => {
  test('the content type of every success is application/json, without a charset', async () => {
    const { id } = await create()
    for (const [method, path, json] of [
      ['POST', '/videos', {}],
      ['GET', '/videos'],
      ['GET', `/videos/${id}`],
      ['PATCH', `/videos/${id}`, { title: 'b' }],
      ['GET', `/videos/${id}/status`],
      ['GET', '/tags'],
      ['POST', '/auth/api-key', { apiKey: 'test-production-key' }],
      ['GET', '/openapi.json'],
      ['GET', '/healthz'],
    ] as const) {
      const response = await call(at(path), { method, json })
      assert.ok(response.status === 200 || response.status === 201, `${method} ${path} ${response.text}`)
      assert.equal(response.headers.get('content-type'), 'application/json', `${method} ${path}`)
    }
  })

  test('a deletion returns 204 without a body, even if the request has a content type but no body', async () => {
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const { id } = await create()
      const response = await call(at(`/videos/${id}`), {
        method: 'DELETE',
        headers: { 'content-type': type },
      })
      assert.deepEqual([response.status, response.text], [204, ''])
      assert.ok([null, 'application/json'].includes(response.headers.get('content-type')))
    }
  })

  test('a JSON body is accepted with any content type', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
    ]) {
      const response = await call(at('/videos'), {
        method: 'POST',
        headers: { 'content-type': type },
        body: '{"title":"Ünïcode"}',
      })
      assert.equal(response.body.title, 'Ünïcode', type)
    }
  })

  test('timestamps are in UTC, in ATOM format, without fractions of a second', async () => {
    const video = await create()
    for (const time of [video.createdAt, video.updatedAt, video.publishedAt]) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
    }
  })

  test('a video has both id fields, and the id starts with vi', async () => {
    const video = await create()
    assert.equal(video.id, video.videoId)
    assert.match(video.id, /^vi[0-9A-Za-z]{22}$/)
  })

  test('unknown attributes are ignored', async () => {
    const video = await create({ title: 'Kept', record: true, futureField: { deep: [1] }, __proto__: null })
    assert.equal(video.title, 'Kept')
    assert.equal(video.futureField, undefined)
  })
})

describe('requests', () => {
  test('repeated slashes count as one, in both environments', async () => {
    const { id } = await create({ title: 'a//b' })
    assert.equal((await call(at(`//videos///${id}`))).body.id, id)
    assert.equal((await call(at('//videos?title=a//b'))).body.data[0].id, id)
    assert.equal((await call(at('//sandbox//videos'), { key: sandboxKey })).status, 200)
    assert.equal((await call(at('/sandboxes'))).status, 404)
  })

  test('a trailing slash is ignored', async () => {
    assert.equal((await call(at('/videos/'))).status, 200)
    assert.equal((await call(at('/sandbox/videos/'), { key: sandboxKey })).status, 200)
  })

  test('a request line may contain an absolute URL, as a proxy sends it', async () => {
    const raw = await sendRaw(
      service.url,
      `GET ${at('/healthz')} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    )
    assert.match(raw, /^HTTP\/1\.1 200 /)
  })

  test('no value of the av-origin headers causes a rejection', async () => {
    for (const value of ['nodejs:2.6.8', 'no version', 'x'.repeat(500), '']) {
      const headers = { 'av-origin-client': value, 'av-origin-app': value, 'av-origin-sdk': value }
      assert.equal((await call(at('/videos'), { headers })).status, 200)
    }
  })

  test('the old Accept media type with a version is accepted', async () => {
    const headers = { accept: 'application/vnd.api.video+json;version=1' }
    const response = await call(at('/videos'), { headers })
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/json'])
  })

  test('every response has a request id', async () => {
    const ids = new Set<string | null>()
    for (const path of ['/videos', '/nothing', '/healthz', '/videos/x', '/videos/%zz'])
      ids.add((await call(at(path))).headers.get('x-request-id'))
    assert.equal(ids.size, 5)
    assert.ok(!ids.has(null))
  })
})

describe('error responses', () => {
  test('an error for invalid attributes lists every problem and repeats the first at the top level', async () => {
    const json = {
      title: 1,
      tags: ['a', 2],
      metadata: [{ key: 'a', value: 3 }],
      clip: { startTimecode: 'now' },
    }
    const response = await call(at('/videos'), { method: 'POST', json })
    const { problems, type, title, name } = response.body
    assertProblem(response, 400, 'invalid-attribute', name)
    assert.deepEqual(problems[0], { type, title, name, status: 400 })
    assert.deepEqual(problems.map((problem: { name: string }) => problem.name).sort(), [
      'clip[startTimecode]',
      'metadata[0][value]',
      'tags[1]',
      'title',
    ])
  })

  test('an error names a missing attribute', async () => {
    for (const [path, name] of [
      ['/auth/api-key', 'apiKey'],
      ['/auth/refresh', 'refreshToken'],
    ] as const) {
      const response = await call(at(path), { method: 'POST', json: {} })
      assertProblem(response, 400, 'attribute-required', name)
      assert.equal(response.body.problems.length, 1)
    }
  })

  test('every 400 has a name and lists its problem, also one about no attribute', async () => {
    const upload = `/videos/${(await create()).id}/source`
    const form = { 'content-type': 'multipart/form-data; boundary=x' }
    const emptyFile = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n\r\n--x--'
    for (const [path, options, slug, name] of [
      ['/videos', { body: '{', headers: { 'content-type': 'application/json' } }, 'invalid-payload', ''],
      ['/videos', { json: [] }, 'invalid-payload', ''],
      ['/auth/api-key', { json: { apiKey: 'wrong' } }, 'authentication-invalid-user-credentials', ''],
      [upload, { body: '--x--', headers: form }, 'uploaded-file-no-file', 'file'],
      [upload, { body: emptyFile, headers: form }, 'uploaded-file-empty', 'file'],
    ] as const) {
      const response = await call(at(path), { method: 'POST', ...options })
      assertProblem(response, 400, slug, name)
      const { problems, ...first } = response.body
      assert.deepEqual(problems, [first])
    }
    const { body } = await call(at('/videos/vi0123456789012345678901'))
    assert.equal(body.problems, undefined)
  })

  test('an error for an invalid query parameter contains the allowed range', async () => {
    for (const [parameter, range] of [
      ['currentPage=0', { min: 1 }],
      ['pageSize=0', { min: 1, max: 100 }],
      ['pageSize=101', { min: 1, max: 100 }],
    ] as const) {
      const response = await call(at(`/videos?${parameter}`))
      assertProblem(response, 400, 'request-invalid-query-parameter', parameter.split('=')[0])
      assert.deepEqual({ ...response.body.range, ...range }, response.body.range, response.text)
    }
  })

  test('every request for an unknown video returns 404 with the parameter name', async () => {
    for (const [method, path, json] of [
      ['GET', ''],
      ['PATCH', '', { title: 'x' }],
      ['PATCH', '', {}],
      ['PATCH', '', { tags: ['x'] }],
      ['DELETE', ''],
      ['GET', '/status'],
    ] as const) {
      const response = await call(at(`/videos/vi0123456789012345678901${path}`), { method, json })
      assertProblem(response, 404, 'resource-not-found', 'videoId')
    }
    assert.deepEqual((await call(at('/tags'))).body.data, [])
  })

  test('an unknown path returns 404 without a name, with or without a key', async () => {
    for (const path of [
      '/nothing',
      '/videos/x/y/z',
      '/sandbox/nothing',
      '/openapiXjson',
      '/docs/errors/nothing',
    ]) {
      assertProblem(await call(at(path)), 404, 'unrecognized-request-url')
      assertProblem(await call(at(path), { key: '' }), 404, 'unrecognized-request-url')
    }
  })

  test('an unsupported method returns 405 with the allowed methods', async () => {
    for (const [method, path, allowed] of [
      ['PUT', '/videos', ['GET', 'HEAD', 'POST']],
      ['DELETE', '/videos/', ['GET', 'HEAD', 'POST']],
      ['POST', '/videos/vi0123456789012345678901', ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['POST', '/sandbox/tags', ['GET', 'HEAD']],
      ['GET', '/auth/api-key', ['POST']],
    ] as const) {
      const response = await call(at(path), { method })
      assertProblem(response, 405, 'method-not-allowed')
      assert.deepEqual(response.headers.get('allow')?.split(', ').sort(), allowed, `${method} ${path}`)
    }
  })

  test('the type of an error is the URL of its documentation', async () => {
    for (const [path, key] of [
      ['/nothing', ''],
      ['/videos', ''],
      ['/videos/x', undefined],
      ['/videos?pageSize=x', undefined],
    ] as const) {
      const { body } = await call(at(path), { key })
      const page = await call(body.type, { key: '' })
      assert.equal(page.status, 200)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.ok(page.text.includes(body.type.split('/').pop()))
    }
  })
})

describe('creating and updating', () => {
  test('creating an empty video returns 201, and creating one with a source returns 202', async () => {
    assert.equal((await call(at('/videos'), { method: 'POST', json: {} })).status, 201)
    const { id } = await create({ title: 'Original' })
    for (const source of ['https://example.com/a.mp4', 'http://example.com', id]) {
      const response = await call(at('/videos'), { method: 'POST', json: { source } })
      assert.equal(response.status, 202, source)
      assert.equal(response.body.assets.hls, at(`/vod/${response.body.id}/hls/manifest.m3u8`))
    }
  })

  test('the default title is the file name of the source without its extension, or empty', async () => {
    assert.equal((await create({})).title, '')
    for (const [source, title] of [
      ['https://example.com/films/My%20film.mp4?x=1', 'My film'],
      ['https://example.com/100%.mp4', '100%'],
      ['https://example.com', ''],
    ]) {
      const response = await call(at('/videos'), { method: 'POST', json: { source } })
      assert.equal(response.body.title, title)
    }
  })

  test('metadata is accepted in two formats and returned in one', async () => {
    const video = await create({
      metadata: [
        { key: 'author', value: 'Ada' },
        { place: 'Paris' },
        { viewer: '__who__' },
        { key: 'empty', value: '' },
      ],
    })
    const expected = [
      { key: 'author', value: 'Ada' },
      { key: 'place', value: 'Paris' },
      { key: 'viewer', value: '__who__' },
      { key: 'empty', value: '' },
    ]
    assert.deepEqual(video.metadata, expected)
    const changed = await call(at(`/videos/${video.id}`), {
      method: 'PATCH',
      json: { metadata: [{ place: 'Rome' }] },
    })
    assert.deepEqual(changed.body.metadata, [{ key: 'place', value: 'Rome' }])
  })

  test('an update cannot change the id, the dates, the source or the clip', async () => {
    const video = await create({ title: 'Firm' })
    const json = {
      id: 'vi1',
      videoId: 'vi1',
      createdAt: 'x',
      source: 'https://e.com/a',
      clip: 1,
      watermark: 2,
    }
    const changed = await call(at(`/videos/${video.id}`), { method: 'PATCH', json })
    assert.equal(changed.status, 200)
    assert.deepEqual(changed.body, video)
  })

  test('a duplicate tag is stored and counted once', async () => {
    assert.deepEqual((await create({ tags: ['a', 'a', 'A'] })).tags, ['a', 'A'])
    const { body } = await call(at('/tags'))
    assert.deepEqual(
      body.data.map((tag: { videoCount: number }) => tag.videoCount),
      [1, 1],
    )
  })

  test('tag counts stay correct when a video is updated and deleted concurrently', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await create({ tags: ['before'] })
      const change = (tag: string) => call(at(`/videos/${id}`), { method: 'PATCH', json: { tags: [tag] } })
      const remove = () => call(at(`/videos/${id}`), { method: 'DELETE' })
      await Promise.all([change('a'), change('b'), remove(), change('c'), remove(), change('d')])
    }
    assert.deepEqual((await call(at('/tags'))).body.data, [])
    assert.equal((await call(at('/videos'))).body.pagination.itemsTotal, 0)
  })
})

describe('CORS', () => {
  const origin = 'https://shop.example.com'
  const needed =
    'authorization, content-type, content-range, av-origin-client, av-origin-app, av-origin-sdk, accept'

  test('a preflight request needs no key and allows every method and header of the clients', async () => {
    for (const path of [
      '/videos',
      '/sandbox/videos',
      '/videos/vi0123456789012345678901',
      '/auth/refresh',
      '//tags',
    ]) {
      for (const method of ['GET', 'POST', 'PATCH', 'PUT', 'DELETE']) {
        const headers = {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': needed.replaceAll(' ', ''),
        }
        const response = await call(at(path), { method: 'OPTIONS', key: '', headers })
        const header = (name: string) => response.headers.get(`access-control-${name}`) ?? ''
        assert.deepEqual([response.status, response.text], [204, ''], path)
        assert.equal(header('allow-origin'), '*')
        assert.ok(header('allow-methods').includes(method), method)
        for (const name of needed.split(', ')) assert.ok(header('allow-headers').includes(name), name)
        assert.ok(Number(header('max-age')) > 0)
      }
    }
  })

  test('any page may read every response, including errors and the rate limit headers', async () => {
    for (const [expected, path, options] of [
      [200, '/videos', {}],
      [401, '/videos', { key: '' }],
      [404, '/videos/x', {}],
      [404, '/nothing', {}],
      [405, '/videos', { method: 'PUT' }],
      [400, '/videos', { method: 'POST', body: '{' }],
      [413, '/videos', { method: 'POST', body: ' '.repeat(1024 * 1024 + 1) }],
      [400, '/videos/%zz', {}],
    ] as const) {
      const response = await call(at(path), { ...options, headers: { origin } })
      assert.equal(response.status, expected, path)
      assert.equal(response.headers.get('access-control-allow-origin'), '*', path)
      const exposed = response.headers.get('access-control-expose-headers') ?? ''
      for (const name of ['limit', 'remaining', 'retry-after'])
        assert.ok(exposed.includes(`x-ratelimit-${name}`))
    }
  })
})
