import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import {
  assertProblem,
  call,
  callRaw,
  productionKey,
  query,
  sendRaw,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'

// The response to an invalid request names the error, and the service stores nothing.

const service = sharedKinora()
const at = (path: string) => service.url + path
const authorization = `Basic ${btoa(`${productionKey}:`)}`

const post = (json: unknown) => call(at('/videos'), { method: 'POST', json })
const postText = (body: string) =>
  call(at('/videos'), { method: 'POST', body, headers: { 'content-type': 'application/json' } })

async function assertNothingStored() {
  const [row] = await query(
    service.database,
    'select (select count(*) from videos) + (select count(*) from pgboss.job) as n',
  )
  assert.equal(Number(row.n), 0)
  assert.equal((await call(at('/videos'))).body.pagination.itemsTotal, 0)
}

const long = (length: number) => 'x'.repeat(length)
const listOf = <T>(length: number, make: (i: number) => T) => Array.from({ length }, (_, i) => make(i))
const unknownId = 'vi0123456789012345678901'

/** A complete payload, for cases in which the name of the error is not the name of the attribute. */
class Payload {
  readonly json: unknown
  constructor(json: unknown) {
    this.json = json
  }
}
function wrap(attribute: string, value: unknown) {
  return new Payload({ [attribute]: value })
}
/** Invalid values, by the name that the error must give. */
const invalidInBoth: Record<string, unknown[]> = {
  title: [5, null, true, [], {}, long(1_001), 'a\0b', 'half \ud83c', '\udfac half'],
  description: [5, null, ['a'], long(20_001), '\0', '\ud800'],
  public: ['true', 1, 0, null, [], {}],
  panoramic: ['false', 1, null],
  mp4Support: ['yes', 1, null],
  language: ['xx', 'EN', '', 5, ['en'], 'constructor'],
  playerId: ['pl4711', '', 5, [], long(101), '\0'],
  transcript: ['yes', null],
  transcriptSummary: [1],
  'transcriptSummaryAttributes[0]': [['essay'], [1]].map((value) =>
    wrap('transcriptSummaryAttributes', value),
  ),
  tags: ['a', {}, 5, null, listOf(101, (i) => `${i}`)],
  'tags[1]': [5, null, '', ['a'], {}, long(256), '\0', '\ud800'].map((tag) => wrap('tags', ['fine', tag])),
  metadata: ['a', {}, 5, null, listOf(101, (i) => ({ [`k${i}`]: 'v' }))],
  'metadata[0]': [
    5,
    null,
    'a',
    [],
    {},
    { key: 'alone' },
    { value: 'alone' },
    { key: 'a', value: 'b', more: 'c' },
    { key: 'a', other: 'b' },
    { one: 'a', two: 'b' },
    { '': 'empty' },
    { key: '', value: 'empty' },
    { [long(256)]: 'a' },
    { 'a\0': 'a' },
    { '\ud800': 'a' },
  ].map((item) => wrap('metadata', [item])),
  'metadata[1]': [
    [
      { key: 'a', value: '1' },
      { key: 'a', value: '2' },
    ],
    [{ a: '1' }, { a: '1' }],
    [{ a: '1' }, { key: 'a', value: '2' }],
  ].map((items) => wrap('metadata', items)),
  'metadata[0][value]': [5, null, [], long(2_001), '\0', '\ud800'].map((value) =>
    wrap('metadata', [{ key: 'k', value }]),
  ),
  'metadata[0][key]': [5, null, long(256), '\0', '\ud800'].map((key) =>
    wrap('metadata', [{ key, value: 'v' }]),
  ),
  'metadata[0][k]': [5, null, {}, long(2_001), '\0'].map((value) => wrap('metadata', [{ k: value }])),
}

const invalidInCreation: Record<string, unknown[]> = {
  source: [
    '',
    'x',
    'ftp://a/b',
    'file:///etc/passwd',
    'javascript:1',
    '//a/b',
    unknownId,
    5,
    null,
    {},
    'https://a/\0',
  ],
  clip: ['x', 5, null, []],
  'clip[startTimecode]': ['', '1:2', '00:61:00', '-5', 'PT5S', '00:00:00.', 5, null].map((value) =>
    wrap('clip', { startTimecode: value }),
  ),
  'clip[endTimecode]': [{ endTimecode: '99999999' }].map((value) => wrap('clip', value)),
  watermark: ['x', 5, null],
  'watermark[id]': [{}, { id: 'watermark_4711' }, { id: 5 }].map((value) => wrap('watermark', value)),
  'watermark[top]': [
    { id: 'w', top: '10em' },
    { id: 'w', top: 5 },
  ].map((value) => wrap('watermark', value)),
}

const payloads = (cases: Record<string, unknown[]>) =>
  Object.entries(cases).flatMap(([name, values]) =>
    values.map((value) => ({ name, json: value instanceof Payload ? value.json : { [name]: value } })),
  )

describe('attributes', () => {
  test('creating a video with an invalid attribute fails, names the attribute and stores nothing', async () => {
    for (const { name, json } of payloads({ ...invalidInBoth, ...invalidInCreation })) {
      const response = await post({ ...(json as object), ...(name !== 'title' && { title: 'Valid' }) })
      const label = JSON.stringify(json).slice(0, 100)
      assert.equal(response.status, 400, `${label} ${response.text}`)
      assertProblem(response, 400, 'invalid-attribute', name)
      assert.equal(response.body.problems[0].name, name)
      assert.ok(response.text.length < 5_000, label)
    }
    await assertNothingStored()
  })

  test('updating a video with an invalid attribute fails, names the attribute and changes nothing', async () => {
    const { body: video } = await post({ title: 'Firm', tags: ['a'], metadata: [{ k: 'v' }] })
    for (const { name, json } of payloads(invalidInBoth)) {
      const response = await call(at(`/videos/${video.id}`), {
        method: 'PATCH',
        json: { ...(json as object), ...(name !== 'description' && { description: 'Valid' }) },
      })
      assertProblem(response, 400, 'invalid-attribute', name)
    }
    assert.deepEqual((await call(at(`/videos/${video.id}`))).body, video)
  })

  test('values of the maximum length are stored and found', async () => {
    const emoji = (length: number) => '🎬'.repeat(length)
    const json = {
      title: emoji(1_000),
      description: emoji(20_000),
      tags: listOf(100, (i) => `${i}`.padEnd(255, 'ü')),
      metadata: listOf(100, (i) => ({ key: `${i}`.padEnd(255, 'é'), value: `${i}`.padEnd(2_000, 'ß') })),
    }
    const response = await post(json)
    assert.equal(response.status, 201, response.text)
    const { title, description, tags, metadata } = response.body
    assert.deepEqual({ title, description, tags, metadata }, json)
    const search = new URLSearchParams([['tags[]', json.tags[99]!]])
    assert.equal((await call(at(`/videos?${search}`))).body.pagination.itemsTotal, 1)
    assert.equal((await post({ metadata: [{ key: emoji(255), value: 'v' }] })).status, 201)
  })

  test('names with a meaning in JavaScript are ordinary names', async () => {
    const response = await postText(
      '{"__proto__":{"title":1,"public":false},"constructor":{"prototype":{"x":1}},"metadata":[{"__proto__":"a"},{"constructor":"b"},{"toString":"c"}],"tags":["__proto__"]}',
    )
    assert.equal(response.status, 201, response.text)
    assert.deepEqual([response.body.title, response.body.public], ['', true])
    assert.deepEqual(
      response.body.metadata.map((pair: { key: string; value: string }) => pair.key + pair.value),
      ['__proto__a', 'constructorb', 'toStringc'],
    )
    for (const search of ['metadata[__proto__]=a', 'metadata[constructor]=b', 'tags[]=__proto__'])
      assert.equal((await call(at(`/videos?${search}`))).body.pagination.itemsTotal, 1, search)
    assertProblem(
      await postText('{"metadata":[{"__proto__":{}}]}'),
      400,
      'invalid-attribute',
      'metadata[0][__proto__]',
    )
  })

  test('unknown attributes are not stored at any depth', async () => {
    const clip = '{"startTimecode":"5","\\ud800":1,"more":"\\u0000"}'
    const response = await postText(`{"title":"Cut","clip":${clip},"more":{"\\ud800":"\\u0000"}}`)
    assert.equal(response.status, 201, response.text)
    const [row] = await query(service.database, 'select clip from videos')
    assert.deepEqual(row.clip, { startTimecode: '5' })
  })

  test('credentials of a wrong type are rejected by name', async () => {
    for (const value of [5, null, [], {}, long(501)]) {
      for (const [path, name] of [
        ['/auth/api-key', 'apiKey'],
        ['/auth/refresh', 'refreshToken'],
      ] as const) {
        const response = await call(at(path), { method: 'POST', json: { [name]: value } })
        assertProblem(response, 400, 'invalid-attribute', name)
      }
    }
  })
})

describe('bodies', () => {
  const framings: Record<string, string>[] = [{}, { 'transfer-encoding': 'chunked' }]

  test('a body that is not a JSON object is rejected', async () => {
    for (const body of [
      '',
      ' ',
      '{',
      '}',
      '{"title":}',
      "{'a':1}",
      '{"a":1,}',
      '{}{}',
      '\0',
      'title=a',
      '<a/>',
      'NaN',
    ])
      assertProblem(await postText(body), 400, 'invalid-payload')
    for (const body of ['null', '[]', '[{}]', '"text"', '5', 'true', '"__proto__"'])
      assertProblem(await postText(body), 400, 'invalid-payload')
    await assertNothingStored()
  })

  test('invalid UTF-8 is rejected, not replaced', async () => {
    const body = Buffer.concat([
      Buffer.from('{"title":"a'),
      Buffer.from([0xff, 0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ])
    for (const framing of framings) {
      const headers = { authorization, 'content-type': 'application/json', ...framing } as Record<
        string,
        string
      >
      const response = await callRaw(service.url, '/videos', { method: 'POST', headers, body })
      assertProblem(response, 400, 'invalid-payload')
    }
    await assertNothingStored()
  })

  test('deeply nested JSON gets an ordinary response', async () => {
    const deep = `${'['.repeat(250_000)}${']'.repeat(250_000)}`
    assertProblem(await postText(deep), 400, 'invalid-payload')
    assertProblem(await postText(`{"title":${deep}}`), 400, 'invalid-attribute', 'title')
    assertProblem(await postText(`{"tags":${deep}}`), 400, 'invalid-attribute', 'tags[0]')
    assertProblem(await postText(`${'{"a":'.repeat(100_000)}1`), 400, 'invalid-payload')
    assertProblem(
      await postText(`{"metadata":[${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}]}`),
      400,
      'invalid-attribute',
      'metadata[0][a]',
    )
    await assertNothingStored()
    assert.equal((await postText(`{"unknown":${deep}}`)).status, 201)
  })

  test('a body has at most 1 MiB, with Content-Length or chunked', async () => {
    const full = `{"title":"full"}${' '.repeat(1024 * 1024 - 16)}`
    const headers = { authorization, 'content-type': 'application/json' }
    for (const framing of framings) {
      const send = (body: string) =>
        callRaw(service.url, '/videos', { method: 'POST', headers: { ...headers, ...framing }, body })
      assertProblem(await send(`${full} `), 413, 'payload-too-large')
      assert.equal((await send(full)).status, 201)
    }
    assert.equal((await call(at('/videos'))).body.pagination.itemsTotal, 2)
  })

  test('a body whose length differs from Content-Length is rejected, and nothing is stored', async () => {
    const head = (length: string) =>
      `POST /videos HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-length: ${length}\r\n`
    // The client closes the connection before it has sent the announced length.
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.end(`${head('100')}\r\n{"title":"half`)
    await waitFor(() => socket.closed || socket.resume().readableEnded)
    for (const [length, body] of [
      ['5', '{"title":"cut"}'],
      ['-1', '{}'],
      ['x', '{}'],
      ['2\r\ntransfer-encoding: chunked', '0\r\n\r\n{}'],
    ] as const) {
      const raw = await sendRaw(service.url, `${head(length)}connection: close\r\n\r\n${body}`)
      assert.match(raw, /^HTTP\/1\.1 400 .*content-type: application\/problem\+json.*"status":400/is, length)
    }
    await assertNothingStored()
  })
})
