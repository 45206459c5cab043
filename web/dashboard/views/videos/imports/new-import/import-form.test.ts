import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyForm, readForm } from './import-form.ts'

test('a request has only the fields of its service', () => {
  const typed = { url: 'https://other.example.com', key: ' id ', secret: 'secret', tags: 'a', list: 'x' }
  assert.deepEqual(readForm({ ...emptyForm('mux'), ...typed, limit: '5', bandwidth: '1.5' }), {
    service: 'mux',
    dryRun: true,
    key: 'id',
    secret: 'secret',
    include: ['captions'],
    limit: 5,
    concurrency: 3,
    bandwidth: 1_500_000,
  })
})

test('lines become a list of URLs, and commas separate tags', () => {
  const list = 'https://example.com/a.mp4\n\n https://example.com/b.mp4 \n'
  assert.deepEqual(readForm({ ...emptyForm('urls'), list }).list, [
    { url: 'https://example.com/a.mp4' },
    { url: 'https://example.com/b.mp4' },
  ])
  const { tags, keepIds, include } = readForm({ ...emptyForm('kinora'), tags: 'new, old,,' })
  assert.deepEqual([tags, keepIds, include?.includes('webhooks')], [['new', 'old'], true, false])
})
