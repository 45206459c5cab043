import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Entry, find } from './find.ts'

const entry = (group: string, title: string, detail = '', text = ''): Entry => ({
  group,
  title,
  detail,
  text,
  url: `/${title}`,
})
const entries = [
  entry('Guides', 'Analytics', '', 'A webhook is not needed.'),
  entry('Guides', 'Webhooks', 'Verify the signature', 'Every delivery is signed.'),
  entry('API reference', 'Create a webhook', 'POST /webhooks'),
  entry('Errors', 'Unknown webhook', 'webhook-not-found'),
]
const titles = (query: string) => find(entries, query).map(({ title }) => title)

test('every word has to occur, and case, accents and order do not matter', () => {
  assert.deepEqual(titles('SIGNÁTURE webhooks'), ['Webhooks'])
  assert.deepEqual(titles('signature nothing'), [])
  assert.deepEqual(titles('  '), [])
})

test('headings come before texts, and the group with the best entry first', () => {
  assert.deepEqual(titles('webhooks'), ['Webhooks', 'Create a webhook'])
  assert.deepEqual(find(entries, 'webhook').at(-1)?.title, 'Unknown webhook')
  assert.deepEqual(titles('post /webhooks'), ['Create a webhook'])
})

test('characters of patterns are plain text', () => {
  assert.deepEqual(titles('(.*'), [])
  assert.deepEqual(find([entry('Guides', 'List', '', 'tags[]=a')], 'tags[]').length, 1)
})

test('the snippet shows the text around the first word', () => {
  const text = `${'filler '.repeat(60)}needle ${'filler '.repeat(60)}`
  const [found] = find([entry('Guides', 'Haystack', '', text)], 'needle')
  assert.match(found!.snippet, /^… .*needle.* …$/)
  assert.ok(found!.snippet.length < 150)
})
