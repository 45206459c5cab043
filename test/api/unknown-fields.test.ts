import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, sandboxKey, sharedKinora, waitFor } from '../support/harness.ts'

// Unknown fields are accepted, and a response header names them.

const service = sharedKinora({ KINORA_LOG_LEVEL: 'info' })
const at = (path: string) => service.url + path
const post = (json: unknown, options = {}) => call(at('/videos'), { method: 'POST', json, ...options })
const warnings = ({ headers }: { headers: Headers }) => headers.get('kinora-warnings')

test('a misspelled field is ignored and named, in a success and in an error', async () => {
  const sent = { titel: 'My film', watermark: { rigth: '2%' } }
  const expected =
    'Unknown field "titel" was ignored. Did you mean "title"? Unknown field "watermark[rigth]" was ignored. Did you mean "watermark[right]"?'
  const refused = await post(sent)
  assert.deepEqual([refused.status, warnings(refused)], [400, expected])
  const created = await post({ titel: 'My film' })
  assert.equal(created.status, 201)
  assert.notEqual(created.body.title, 'My film')
  assert.equal(warnings(created), 'Unknown field "titel" was ignored. Did you mean "title"?')
  const changed = await call(at(`/videos/${created.body.id}`), { method: 'PATCH', json: { pubilc: false } })
  assert.match(warnings(changed)!, /Did you mean "public"\?$/)
})

test('a misspelled query parameter is ignored and named, also on a route without parameters', async () => {
  const listed = await call(at('/videos?pagesize=5&tags[]=a&metadata[b]=c'))
  assert.equal(warnings(listed), 'Unknown query parameter "pagesize" was ignored. Did you mean "pageSize"?')
  assert.equal(
    warnings(await call(at('/sandbox/webhooks?page=2'), { key: sandboxKey })),
    'Unknown query parameter "page" was ignored.',
  )
})

test('requests without unknown fields have no warnings, and neither has a request without a valid key', async () => {
  const json = { title: 'a', tags: ['b'], metadata: [{ key: 'c', value: 'd' }, { e: 'f' }], public: false }
  assert.equal(warnings(await post(json)), null)
  assert.equal(warnings(await call(at('/videos?include[]=status&currentPage=1'))), null)
  const refused = await post({ titel: 'a' }, { key: 'wrong' })
  assert.deepEqual([refused.status, warnings(refused)], [401, null])
})

test('a name cannot add a header or a character other than printable ASCII', async () => {
  const response = await post({ '\r\nset-cookie: a=b': 1, 'ünknown\0': 2 })
  assert.equal(response.status, 201)
  assert.equal(response.headers.get('set-cookie'), null)
  assert.equal(
    warnings(response),
    'Unknown field "\\r\\nset-cookie: a=b" was ignored. Unknown field "\\u00fcnknown\\u0000" was ignored.',
  )
})

test('warnings name only what their own request contains, although other requests run at once', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `private-${i}`)
  const responses = await Promise.all(
    names.map((name, i) =>
      post({ title: name, [name]: name }, { key: i % 2 === 0 ? sandboxKey : undefined }),
    ),
  )
  for (const [i, response] of responses.entries())
    assert.equal(warnings(response), `Unknown field "${names[i]}" was ignored.`)
})

test('pages of other origins can read the warnings, and the log has them', async () => {
  const response = await post({ colour: 'red' }, { headers: { origin: 'https://app.example' } })
  assert.match(response.headers.get('access-control-expose-headers') ?? '', /\bkinora-warnings\b/)
  const id = response.headers.get('x-request-id')!
  await waitFor(() => service.output().includes(id))
  const line = service
    .output()
    .split('\n')
    .find((each) => each.includes(id))!
  assert.equal(JSON.parse(line).warnings, 'Unknown field "colour" was ignored.')
})
