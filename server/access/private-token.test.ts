import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueToken, readToken } from './private-token.ts'

const secret = Buffer.alloc(32, 1)
const videoId = 'vi4blUQJFrYWbaG44NChkH27'
const now = new Date('2026-03-04T05:06:07.890Z')

test('a token looks like a UUID and contains the time of issue', () => {
  const token = issueToken(secret, videoId, now)
  assert.match(token, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.deepEqual(readToken(secret, videoId, token), new Date('2026-03-04T05:06:07Z'))
})

test('tokens of the same second differ', () => {
  const tokens = new Set(Array.from({ length: 1000 }, () => issueToken(secret, videoId, now)))
  assert.equal(tokens.size, 1000)
})

test('a token is valid for one video and one secret', () => {
  const token = issueToken(secret, videoId, now)
  assert.equal(readToken(secret, 'vi4blUQJFrYWbaG44NChkH28', token), undefined)
  assert.equal(readToken(Buffer.alloc(32, 2), videoId, token), undefined)
})

test('a token with any changed character is invalid', () => {
  const token = issueToken(secret, videoId, now)
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === '0' ? '1' : '0'
    const changed = token.slice(0, i) + other + token.slice(i + 1)
    assert.equal(readToken(secret, videoId, changed), undefined, changed)
  }
})

test('a token has one spelling', () => {
  const token = issueToken(secret, videoId, now)
  const others = [token.toUpperCase(), `${token}\n`, ` ${token}`, `{${token}}`, token.replaceAll('-', ''), '']
  for (const other of others)
    if (other !== token) assert.equal(readToken(secret, videoId, other), undefined, other)
})

test('tokens are valid until 2057', () => {
  const late = new Date('2057-12-31T00:00:00Z')
  assert.deepEqual(readToken(secret, videoId, issueToken(secret, videoId, late)), late)
})
