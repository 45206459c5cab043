import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertProblem, call, sandboxKey, sendRaw, sharedKinora } from './harness.ts'

// What existing clients rely on in the answers, letter by letter (interface notes 1, 3, 6 and 19).

const service = sharedKinora()
const at = (path: string) => service.url + path

async function create(json: unknown = { title: 'A video' }) {
  const answer = await call(at('/videos'), { method: 'POST', json })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

describe('bodies', () => {
  test('every success is exactly application/json, without a charset', async () => {
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
      const answer = await call(at(path), { method, json })
      assert.ok(answer.status === 200 || answer.status === 201, `${method} ${path} ${answer.text}`)
      assert.equal(answer.headers.get('content-type'), 'application/json', `${method} ${path}`)
    }
  })

  test('a deletion answers 204 without a body, also to a client that names a type for the body it does not send', async () => {
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const { id } = await create()
      const answer = await call(at(`/videos/${id}`), { method: 'DELETE', headers: { 'content-type': type } })
      assert.deepEqual([answer.status, answer.text], [204, ''])
      assert.ok([null, 'application/json'].includes(answer.headers.get('content-type')))
    }
  })

  test('JSON is read whatever type it is sent under', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
    ]) {
      const answer = await call(at('/videos'), {
        method: 'POST',
        headers: { 'content-type': type },
        body: '{"title":"Ünïcode"}',
      })
      assert.equal(answer.body.title, 'Ünïcode', type)
    }
  })

  test('times are whole seconds of UTC in the ATOM form', async () => {
    const video = await create()
    for (const time of [video.createdAt, video.updatedAt, video.publishedAt]) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
    }
  })

  test('the id is there under both names and begins with vi', async () => {
    const video = await create()
    assert.equal(video.id, video.videoId)
    assert.match(video.id, /^vi[0-9A-Za-z]{22}$/)
  })

  test('attributes that are not known are ignored', async () => {
    const video = await create({ title: 'Kept', record: true, futureField: { deep: [1] }, __proto__: null })
    assert.equal(video.title, 'Kept')
    assert.equal(video.futureField, undefined)
  })
})

describe('requests', () => {
  test('slashes run together count as one, in either environment', async () => {
    const { id } = await create({ title: 'a//b' })
    assert.equal((await call(at(`//videos///${id}`))).body.id, id)
    assert.equal((await call(at('//videos?title=a//b'))).body.data[0].id, id)
    assert.equal((await call(at('//sandbox//videos'), { key: sandboxKey })).status, 200)
    assert.equal((await call(at('/sandboxes'))).status, 404)
  })

  test('a slash at the end of the path changes nothing', async () => {
    assert.equal((await call(at('/videos/'))).status, 200)
    assert.equal((await call(at('/sandbox/videos/'), { key: sandboxKey })).status, 200)
  })

  test('a request may name the whole address, as it does through a proxy', async () => {
    const raw = await sendRaw(
      service.url,
      `GET ${at('/healthz')} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    )
    assert.match(raw, /^HTTP\/1\.1 200 /)
  })

  test('headers that tell where a request comes from are never a reason to refuse it', async () => {
    for (const value of ['nodejs:2.6.8', 'no version', 'x'.repeat(500), '']) {
      const headers = { 'av-origin-client': value, 'av-origin-app': value, 'av-origin-sdk': value }
      assert.equal((await call(at('/videos'), { headers })).status, 200)
    }
  })

  test('the media type that once named the version is accepted', async () => {
    const headers = { accept: 'application/vnd.api.video+json;version=1' }
    const answer = await call(at('/videos'), { headers })
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json'])
  })

  test('every answer has the id of its request', async () => {
    const ids = new Set<string | null>()
    for (const path of ['/videos', '/nothing', '/healthz', '/videos/x', '/videos/%zz'])
      ids.add((await call(at(path))).headers.get('x-request-id'))
    assert.equal(ids.size, 5)
    assert.ok(!ids.has(null))
  })
})

describe('problems', () => {
  test('an invalid attribute: every problem is listed, and the first is repeated on top', async () => {
    const json = {
      title: 1,
      tags: ['a', 2],
      metadata: [{ key: 'a', value: 3 }],
      clip: { startTimecode: 'now' },
    }
    const answer = await call(at('/videos'), { method: 'POST', json })
    const { problems, type, title, name } = answer.body
    assertProblem(answer, 400, 'invalid-attribute', name)
    assert.deepEqual(problems[0], { type, title, name })
    assert.deepEqual(problems.map((problem: { name: string }) => problem.name).sort(), [
      'clip[startTimecode]',
      'metadata[0][value]',
      'tags[1]',
      'title',
    ])
  })

  test('a missing attribute', async () => {
    for (const [path, name] of [
      ['/auth/api-key', 'apiKey'],
      ['/auth/refresh', 'refreshToken'],
    ] as const) {
      const answer = await call(at(path), { method: 'POST', json: {} })
      assertProblem(answer, 400, 'attribute-required', name)
      assert.equal(answer.body.problems.length, 1)
    }
  })

  test('an invalid query parameter, with the range that it may have', async () => {
    for (const [parameter, range] of [
      ['currentPage=0', { min: 1 }],
      ['pageSize=0', { min: 1, max: 100 }],
      ['pageSize=101', { min: 1, max: 100 }],
    ] as const) {
      const answer = await call(at(`/videos?${parameter}`))
      assertProblem(answer, 400, 'request-invalid-query-parameter', parameter.split('=')[0])
      assert.deepEqual({ ...answer.body.range, ...range }, answer.body.range, answer.text)
    }
  })

  test('an unknown video is named by its parameter, whatever is asked of it', async () => {
    for (const [method, path, json] of [
      ['GET', ''],
      ['PATCH', '', { title: 'x' }],
      ['PATCH', '', {}],
      ['PATCH', '', { tags: ['x'] }],
      ['DELETE', ''],
      ['GET', '/status'],
    ] as const) {
      const answer = await call(at(`/videos/vi0123456789012345678901${path}`), { method, json })
      assertProblem(answer, 404, 'resource-not-found', 'videoId')
    }
    assert.deepEqual((await call(at('/tags'))).body.data, [])
  })

  test('an unknown address has no name, with or without a key', async () => {
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

  test('a method that an address does not have is refused with those that it has', async () => {
    for (const [method, path, allowed] of [
      ['PUT', '/videos', ['GET', 'HEAD', 'POST']],
      ['DELETE', '/videos/', ['GET', 'HEAD', 'POST']],
      ['POST', '/videos/vi0123456789012345678901', ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['POST', '/sandbox/tags', ['GET', 'HEAD']],
      ['GET', '/auth/api-key', ['POST']],
    ] as const) {
      const answer = await call(at(path), { method })
      assertProblem(answer, 405, 'method-not-allowed')
      assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), allowed, `${method} ${path}`)
    }
  })

  test('the type of a problem is a link that opens its explanation', async () => {
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

describe('creating and changing', () => {
  test('an empty container is 201, and a video with a source 202', async () => {
    assert.equal((await call(at('/videos'), { method: 'POST', json: {} })).status, 201)
    const { id } = await create({ title: 'Original' })
    for (const source of ['https://example.com/a.mp4', 'http://example.com', id]) {
      const answer = await call(at('/videos'), { method: 'POST', json: { source } })
      assert.equal(answer.status, 202, source)
      assert.equal(answer.body.assets.hls, at(`/vod/${answer.body.id}/hls/manifest.m3u8`))
    }
  })

  test('a title that is not given is empty, or the name of the file in the source', async () => {
    assert.equal((await create({})).title, '')
    for (const [source, title] of [
      ['https://example.com/films/My%20film.mp4?x=1', 'My film.mp4'],
      ['https://example.com/100%.mp4', '100%.mp4'],
      ['https://example.com', ''],
    ]) {
      const answer = await call(at('/videos'), { method: 'POST', json: { source } })
      assert.equal(answer.body.title, title)
    }
  })

  test('metadata is taken in both forms and given in one', async () => {
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

  test('a change cannot touch the id, the dates, the source or the clip', async () => {
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

  test('a tag that is given twice is kept and counted once', async () => {
    assert.deepEqual((await create({ tags: ['a', 'a', 'A'] })).tags, ['a', 'A'])
    const { body } = await call(at('/tags'))
    assert.deepEqual(
      body.data.map((tag: { videoCount: number }) => tag.videoCount),
      [1, 1],
    )
  })

  test('tags are counted right when a video is changed and deleted at the same time', async () => {
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

describe('browsers', () => {
  const origin = 'https://shop.example.com'
  const needed =
    'authorization, content-type, content-range, av-origin-client, av-origin-app, av-origin-sdk, accept'

  test('a preflight is answered without a key, for every method and header of the clients', async () => {
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
        const answer = await call(at(path), { method: 'OPTIONS', key: '', headers })
        const given = (name: string) => answer.headers.get(`access-control-${name}`) ?? ''
        assert.deepEqual([answer.status, answer.text], [204, ''], path)
        assert.equal(given('allow-origin'), '*')
        assert.ok(given('allow-methods').includes(method), method)
        for (const header of needed.split(', ')) assert.ok(given('allow-headers').includes(header), header)
        assert.ok(Number(given('max-age')) > 0)
      }
    }
  })

  test('any page may read every answer, errors too, and the headers that matter', async () => {
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
      const answer = await call(at(path), { ...options, headers: { origin } })
      assert.equal(answer.status, expected, path)
      assert.equal(answer.headers.get('access-control-allow-origin'), '*', path)
      const exposed = answer.headers.get('access-control-expose-headers') ?? ''
      for (const name of ['limit', 'remaining', 'retry-after'])
        assert.ok(exposed.includes(`x-ratelimit-${name}`))
    }
  })
})
