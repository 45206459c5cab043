import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  assertProblem,
  call,
  callRaw,
  productionKey,
  sandboxKey,
  sendRaw,
  sharedKinora,
} from '../support/harness.ts'

// Requests with an invalid URL, query or header: the response names the invalid part.

const service = sharedKinora()
const at = (path: string) => service.url + path
const authorization = `Basic ${btoa(`${productionKey}:`)}`

const long = (length: number) => 'x'.repeat(length)
const listOf = <T>(length: number, make: (i: number) => T) => Array.from({ length }, (_, i) => make(i))
const unknownId = 'vi0123456789012345678901'

describe('URLs', () => {
  const malformedIds = [
    `' or 1=1 --`,
    `vi'; drop table videos; --`,
    '../../../etc/passwd',
    'vi..%2f..%2f..%2f',
    `vi${' '.repeat(22)}`,
    `vi${'\0'.repeat(22)}`,
    `vi${'é'.repeat(22)}`,
    `vi${'\n'.repeat(22)}`,
    'VI0123456789012345678901',
    `${unknownId}0`,
    '0',
    '-1',
    'null',
    '__proto__',
    'constructor',
    '🎬',
    '..',
    '.',
    long(200),
    long(4_000),
  ]

  test('a malformed video id returns 404', async () => {
    const headers = { authorization, 'content-type': 'application/json' }
    for (const id of malformedIds) {
      for (const [method, rest, body] of [
        ['GET', '', undefined],
        ['GET', '/status', undefined],
        ['DELETE', '', undefined],
        ['PATCH', '', '{"title":"x"}'],
      ] as const) {
        const path = `/videos/${encodeURIComponent(id)}${rest}`
        const response = await callRaw(service.url, path, { method, headers, ...(body && { body }) })
        assert.equal(response.status, 404, `${method} ${path.slice(0, 80)} ${response.text}`)
        assertProblem(response, 404, 'resource-not-found', 'videoId')
      }
    }
  })

  test('a URL with invalid percent-encoding returns 400', async () => {
    for (const path of ['/videos/%', '/videos/%zz', '/videos/%E0%A4%A', '/videos/%ff', '/%c0%ae'])
      assertProblem(await callRaw(service.url, path, { headers: { authorization } }), 400, 'invalid-url')
  })

  test('a video of the other environment returns 404 and does not change', async () => {
    const { body: video } = await call(at('/sandbox/videos'), {
      method: 'POST',
      key: sandboxKey,
      json: { title: 'x' },
    })
    const path = `/videos/${video.id}`
    for (const [method, rest, json] of [
      ['GET', ''],
      ['GET', '/status'],
      ['PATCH', '', { title: 'changed', tags: ['stolen'] }],
      ['DELETE', ''],
    ] as const) {
      assertProblem(await call(at(path + rest), { method, json }), 404, 'resource-not-found', 'videoId')
    }
    const copy = await call(at('/videos'), { method: 'POST', json: { source: video.id } })
    assertProblem(copy, 400, 'invalid-attribute', 'source')
    assert.deepEqual((await call(at(`/sandbox${path}`), { key: sandboxKey })).body, video)
    assert.deepEqual((await call(at('/tags'))).body.data, [])
  })

  test('the page of an unknown error type returns 404 for any name', async () => {
    for (const slug of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'x', '..%2f..'])
      assertProblem(await callRaw(service.url, `/docs/errors/${slug}`), 404, 'unrecognized-request-url')
  })
})

describe('queries', () => {
  const invalidValues: Record<string, string[]> = {
    currentPage: [
      '-1',
      '0',
      '1.5',
      '1e3',
      'abc',
      '0x10',
      '+1',
      '2147483648',
      '9'.repeat(30),
      '1&currentPage=2',
      '%00',
    ],
    pageSize: ['-5', '0', '101', '1.0', 'all', '9'.repeat(400), '10&pageSize=10'],
    sortBy: ['x', 'TITLE', 'id', 'constructor', '__proto__', 'title;drop', 'title&sortBy=title', ''],
    sortOrder: ['up', 'ASC', 'asc,desc', ''],
    title: [long(1_001), 'a%00b', 'a&title=b', '%ED%A0%80'],
    description: ['a%00b', 'a&description=b'],
    liveStreamId: [long(101), '%00'],
    metadata: ['x', '{}'],
  }
  const invalidQueries: [string, string][] = [
    ['tags[]=%00', 'tags[0]'],
    [`tags[]=a&tags[]=${long(256)}`, 'tags[1]'],
    [listOf(101, (i) => `tags[]=${i}`).join('&'), 'tags'],
    ['metadata[k]=%00', 'metadata[k]'],
    ['metadata[k]=a&metadata[k]=b', 'metadata[k]'],
    [`metadata[k]=${long(2_001)}`, 'metadata[k]'],
    ['metadata[]=x', 'metadata'],
    ['metadata[%00]=x', 'metadata'],
    [`metadata[${long(256)}]=x`, 'metadata'],
    [listOf(101, (i) => `metadata[${i}]=x`).join('&'), 'metadata'],
  ]

  test('an invalid parameter of the video list is rejected by name', async () => {
    const cases = Object.entries(invalidValues).flatMap(([name, values]) =>
      values.map((value) => [`${name}=${value}`, name] as [string, string]),
    )
    for (const [search, name] of [...cases, ...invalidQueries]) {
      const response = await callRaw(service.url, `/videos?${search}`, { headers: { authorization } })
      assert.equal(response.status, 400, `${search.slice(0, 60)} ${response.text.slice(0, 300)}`)
      assertProblem(response, 400, 'request-invalid-query-parameter', name)
    }
  })

  test('an invalid parameter of the tag list is rejected by name', async () => {
    for (const [search, name] of [
      ['value=%00', 'value'],
      [`value=${long(256)}`, 'value'],
      ['sortBy=title', 'sortBy'],
      ['pageSize=0', 'pageSize'],
    ] as const) {
      assertProblem(await call(at(`/tags?${search}`)), 400, 'request-invalid-query-parameter', name)
    }
  })

  test('one response names all invalid parameters', async () => {
    const response = await call(at('/videos?pageSize=0&currentPage=0&sortBy=x&title=%00'))
    const names = response.body.problems.map((problem: { name: string }) => problem.name)
    assert.deepEqual(names.sort(), ['currentPage', 'pageSize', 'sortBy', 'title'])
  })
})

describe('requests', () => {
  test('malformed HTTP and oversized headers get a problem response', async () => {
    const end = 'host: x\r\nconnection: close\r\n\r\n'
    for (const [text, status] of [
      ['GARBAGE\r\n\r\n', 400],
      ['GET\r\n\r\n', 400],
      [`GET /videos HTTP/9.9\r\n${end}`, 400],
      [`GET /vid eos HTTP/1.1\r\n${end}`, 400],
      [`GET /healthz HTTP/1.1\r\nbad header\r\n${end}`, 400],
      [`GET /healthz HTTP/1.1\r\nx: ${long(20_000)}\r\n${end}`, 431],
      [`GET /videos?${long(20_000)} HTTP/1.1\r\n${end}`, 431],
      [`GET /healthz HTTP/1.1\r\n${listOf(3_000, (i) => `h${i}: x\r\n`).join('')}${end}`, 431],
    ] as const) {
      const raw = await sendRaw(service.url, text)
      assert.match(
        raw,
        new RegExp(`^HTTP/1.1 ${status} .*application/problem\\+json.*"status":${status}`, 'is'),
        text.slice(0, 50),
      )
    }
    assert.equal((await call(at('/healthz'))).status, 200)
  })
})
