import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etagOf, matchesEtag } from './etag.ts'

test('an ETag is quoted and changes with the content', () => {
  assert.match(etagOf('a'), /^"[\w-]{22}"$/)
  assert.equal(etagOf('a'), etagOf(Buffer.from('a')))
  assert.notEqual(etagOf('a'), etagOf('b'))
})

test('If-None-Match is a list of ETags, weak or strong, or an asterisk', () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*', ' * '])
    assert.equal(matchesEtag(header, '"a"'), true, header)
  for (const header of [undefined, '', '"b"', 'a', '"aa"', '"A"', 'w/"a"'])
    assert.equal(matchesEtag(header, '"a"'), false, header)
})
