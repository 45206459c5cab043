import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { parseDatabaseUrl } from './url.ts'

const addressesOf = (url: string) =>
  parseDatabaseUrl(url).hosts.map((connectionString) => {
    const { host, port, user, password, database } = new pg.Client({ connectionString })
    return [`${host}:${port}`, user, password, database].join(' ')
  })

test('a URL has one host or several, each with its port', () => {
  const cases = [
    ['postgres://u:p@a/k', ['a:5432 u p k']],
    ['postgresql://u:p@a:1,b:2,[::1]:3/k?connect_timeout=2', ['a:1 u p k', 'b:2 u p k', '::1:3 u p k']],
    ['postgres://u:p%40%2C@a,b:2/k', ['a:5432 u p@, k', 'b:2 u p@, k']],
    ['postgres://u:p@/k?host=/tmp', ['/tmp:5432 u p k']],
    ['postgres://u:p@/k?host=a,b&port=1,2', ['a:1 u p k', 'b:2 u p k']],
    ['postgres://u:p@/k?host=a,/tmp&port=1', ['a:1 u p k', '/tmp:1 u p k']],
  ] as const
  for (const [url, expected] of cases) assert.deepEqual(addressesOf(url), expected, url)
})

test('of several hosts, the one that accepts writes is used, unless the URL asks for any', () => {
  const mustWrite = (url: string) => parseDatabaseUrl(url).mustWrite
  assert.equal(mustWrite('postgres://a/k'), false)
  assert.equal(mustWrite('postgres://a/k?target_session_attrs=read-write'), true)
  assert.equal(mustWrite('postgres://a/k?target_session_attrs=primary'), true)
  assert.equal(mustWrite('postgres://a,b/k'), true)
  assert.equal(mustWrite('postgres://a,b/k?target_session_attrs=any'), false)
  assert.throws(() => mustWrite('postgres://a,b/k?target_session_attrs=standby'), /not "standby"/)
})
