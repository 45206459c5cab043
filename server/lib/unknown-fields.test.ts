import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeUnknown } from './unknown-fields.ts'

const text = { type: 'string' }
const route = {
  body: {
    type: 'object',
    properties: {
      title: text,
      watermark: { type: 'object', properties: { right: text } },
      restreams: { type: 'array', items: { type: 'object', properties: { streamKey: text } } },
      metadata: {
        type: 'array',
        items: { type: 'object', properties: { key: text }, additionalProperties: text },
      },
      labels: { type: 'object', patternProperties: { '^.*$': text } },
    },
  },
  querystring: {
    type: 'object',
    properties: { title: text, tags: { type: 'array', items: text }, metadata: { type: 'object' } },
  },
}
const ofBody = (body: unknown) => describeUnknown(route, { body, query: {} })
const ofQuery = (query: Record<string, string[]>) => describeUnknown(route, { body: undefined, query })

test('an unknown field is named, at any depth, with the field that was probably meant', () => {
  for (const [body, expected] of [
    [{ titel: 'x' }, 'Unknown field "titel" was ignored. Did you mean "title"?'],
    [{ Title: 'x' }, 'Unknown field "Title" was ignored. Did you mean "title"?'],
    [{ rating: 5 }, 'Unknown field "rating" was ignored.'],
    [
      { watermark: { rigth: '1%' } },
      'Unknown field "watermark[rigth]" was ignored. Did you mean "watermark[right]"?',
    ],
    [
      { restreams: [{ streamKey: 'a' }, { stream_key: 'b' }] },
      'Unknown field "restreams[1][stream_key]" was ignored. Did you mean "restreams[1][streamKey]"?',
    ],
    [{ a: 1, b: 2 }, 'Unknown field "a" was ignored. Unknown field "b" was ignored.'],
    [JSON.parse('{"__proto__": 1}'), 'Unknown field "__proto__" was ignored.'],
  ])
    assert.equal(ofBody(body), expected)
})

test('known fields, and maps with any keys, need no warning', () => {
  for (const body of [
    { title: 'x', metadata: [{ author: 'Ada' }], labels: { anything: 'x' } },
    { title: { wrong: 'type' }, watermark: null, restreams: ['x', null] },
    undefined,
    [],
    ['x'],
  ])
    assert.equal(ofBody(body), undefined)
  assert.equal(describeUnknown({}, { body: { title: 'x' }, query: {} }), undefined)
})

test('an unknown query parameter is named, and lists and maps are recognized in all their forms', () => {
  const known = { title: ['a'], tags: ['a'], 'tags[]': ['b'], 'tags[][0]': ['c'], 'metadata[a]': ['b'] }
  assert.equal(ofQuery(known), undefined)
  for (const [name, similar] of [
    ['tag', 'tags'],
    ['titles', 'title'],
    ['title[]', 'title'],
  ] as const)
    assert.equal(
      ofQuery({ [name]: ['x'] }),
      `Unknown query parameter "${name}" was ignored. Did you mean "${similar}"?`,
    )
  assert.match(describeUnknown({}, { body: undefined, query: { page: ['2'] } })!, /parameter "page"/)
})

test('a query parameter that may be a secret is not named', () => {
  for (const name of ['s3cr3t', 'http://localhost/vod/vi1/token/s3cr3t', 'a?token=s3cr3t'])
    assert.equal(ofQuery({ [name]: [''] }), undefined)
  assert.equal(ofQuery({ 'http://localhost/?token=s3cr3t': ['x'] }), undefined)
})

test('whatever the names contain, the warnings are short and printable ASCII', () => {
  const names = ['\r\nset-cookie: a=b', 'tïtle', '😀', '\ud800', '"\\', '\0\x7f', 'x'.repeat(100_000)]
  for (const name of names) {
    const warning = ofBody({ [name]: 1 })!
    assert.match(warning, /^Unknown field ".{1,100}" was ignored\.$|Did you mean "title"\?$/)
    assert.match(warning, /^[\x20-\x7e]+$/)
  }
  assert.equal(ofBody({ 'tï😀': 1 }), 'Unknown field "t\\u00ef\\ud83d\\ude00" was ignored.')

  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`${i}é`.repeat(50), i]))
  const warning = ofBody({ ...many, restreams: Array(10_000).fill(many) })!
  assert.equal(warning.match(/Unknown field/g)?.length, 5)
  assert.match(warning, /More were ignored\.$/)
  assert.ok(warning.length < 3_000)
})
